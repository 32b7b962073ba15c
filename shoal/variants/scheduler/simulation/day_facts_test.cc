#include "shoal/variants/scheduler/simulation/day_facts.h"

#include <gtest/gtest.h>

namespace shoal::schedule {
namespace {

Catalog two_tasks() {
  Catalog catalog;
  catalog.tasks.resize(2);
  catalog.tasks[0].name = "digits";
  catalog.tasks[0].options.resize(2);
  catalog.tasks[0].options[0].variant = "v0";
  catalog.tasks[0].options[1].variant = "v1";
  catalog.tasks[1].name = "faces";
  return catalog;
}

TEST(ScheduleFacts, ListAllOptionsOrThoseThatAnswered) {
  const Catalog catalog = two_tasks();
  const auto all = option_rows(catalog);
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].back().column, "memory");
  DaysReport days;
  days.answers = {{{1, 7}}, {}};
  const auto some = option_rows(catalog, &days);
  ASSERT_EQ(some.size(), 1U);
  EXPECT_EQ(some[0][1].cell, "v1");
  EXPECT_EQ(some[0].back().cell, "7");
  const std::string json = tasks_json(catalog, &days).dump();
  EXPECT_TRUE(json.starts_with(R"([{"options":[{"accuracy":)")) << json;
  EXPECT_NE(json.find(R"("answers":7,"bytes":)"), json.npos) << json;
  EXPECT_TRUE(json.ends_with(R"({"options":[],"task":"faces"}])")) << json;
}

TEST(ScheduleFacts, OfDaysHaveAHashOfSixteenDigits) {
  DaysReport days;
  days.days = 3;
  days.log_hash = 0xab;
  const std::string json = object_of(facts_of(days)).dump();
  EXPECT_NE(json.find(R"("log_hash":"00000000000000ab")"), json.npos) << json;
  EXPECT_NE(json.find(R"("days":3)"), json.npos) << json;
}

}  // namespace
}  // namespace shoal::schedule
