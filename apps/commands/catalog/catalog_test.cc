#include "apps/commands/catalog/catalog.h"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>

#include "shoal/base/files/atomic_file.h"
#include "shoal/base/files/temporary_folder.h"
#include "shoal/base/text/setting_testing.h"
#include "shoal/variants/catalog/catalog.h"

namespace shoal::catalog {
namespace {

Variant a_variant() {
  Variant variant;
  variant.name = "v0";
  variant.figures.top1 = 97.5;
  variant.figures.size = {.macs = 1'500'000, .parameters = 3, .bytes = 2'000'000};
  variant.figures.memory = 250'000;
  variant.figures.ms = 0.5;
  return variant;
}

TEST(CatalogFacts, AreARowForEachVariant) {
  const auto rows = rows_of(std::vector{a_variant()});
  ASSERT_EQ(rows.size(), 1u);
  std::vector<std::string> cells;
  for (const Fact& fact : rows[0]) cells.push_back(fact.cell);
  EXPECT_EQ(cells, (std::vector<std::string>{"v0", a_variant().method, "97.50 %", "1.500 M",
                                             "2.000", "0.250", "0.500", "0.0000"}));
}

TEST(CatalogFacts, CompareBytesWithTheLargest) {
  VariantsResult made;
  made.catalog.variants = {a_variant()};
  made.dominated = {"v3"};
  made.folder_bytes = 1'100;
  made.largest_bytes = 1'000;
  made.top1_before = 98;
  EXPECT_EQ(lines_of(made),
            (std::vector<std::string>{
                "all of them in 1.100 x the bytes of the largest; top-1 98.00 % before",
                "v3 is left out: another one is as good and costs less"}));
  Json json = to_json(made);
  EXPECT_EQ(json["bytes_ratio"].dump(), "1.1");
  EXPECT_EQ(json["variants"][0].dump(), Json::parse(to_json(a_variant()))->dump());
  made.largest_bytes = 0;
  EXPECT_EQ(to_json(made)["bytes_ratio"].dump(), "0.0");
  BuildResult built;
  built.folder_bytes = 3'000'000;
  built.nested_bytes = 500;
  built.largest_bytes = 1'000;
  EXPECT_EQ(lines_of(built).at(0),
            "all widths in 0.500 x the bytes of the largest, all files 3.000 MB");
  EXPECT_EQ(to_json(built)["nested_ratio"].dump(), "0.5");
}

TEST(CatalogFacts, CompareACascadeWithTheGeneralNetwork) {
  SpecialiseResult result;
  result.top1 = 99;
  result.top1_general = 98;
  result.macs = 1'000'000;
  result.macs_general = 4'000'000;
  result.cascade = {.top1 = 98.5, .share = {0.75, 0.25}, .precision = {99.5, 95}, .mean_macs = 2e6};
  result.warm = true;
  result.seconds_features = 0.5;
  result.seconds_head = 0.25;
  Json json = to_json(result);
  EXPECT_EQ(json["cascade_cost"].dump(), "0.5");
  EXPECT_EQ(json["answered"].dump(), "0.75");
  EXPECT_EQ(json["seconds"].dump(), "0.75");
  EXPECT_EQ(json.dump().find("seconds_full"), std::string::npos);
  const auto rows = rows_of(result);
  ASSERT_EQ(rows.size(), 3u);
  EXPECT_EQ(rows[1][3].cell, "25.0 %");
  EXPECT_EQ(rows[2][2].cell, "2.000 M");
  EXPECT_EQ(lines_of(result),
            std::vector<std::string>{"features: 0.50 s from the cache, head: 0.25 s"});
  result.controls = SpecialiseControls{
      .seconds_warm = 0.125, .seconds_full = 2, .top1_full = 99.25, .weights_error = 2.5e-7};
  EXPECT_EQ(lines_of(result).at(1),
            "from the cache: 0.12 s; all layers: 2.00 s, top-1 99.25 %; weights differ by 2.5e-07");
  EXPECT_EQ(to_json(result)["seconds_cold"].dump(), "0.75");
}

TEST(SpecialiseSettings, PutFeaturesBesideTheFile) {
  SpecialiseSettings settings;
  expect_described(settings_of(settings));
  fit::TrainingOptions recipe;
  recipe.epochs = 3;
  recipe.out = "a/special.onnx";
  const SpecialiseOptions beside = resolve(settings, recipe);
  EXPECT_EQ(beside.out, "a/special.onnx");
  EXPECT_EQ(beside.cache, "a/special.features");
  EXPECT_EQ(beside.recipe.epochs, 3);
  settings.options.cache = "b";
  EXPECT_EQ(resolve(settings, recipe).cache, "b");
}

}  // namespace
}  // namespace shoal::catalog

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

namespace shoal::config {
namespace {

class SimulatedDaysTest : public testing::Test {
 protected:
  std::string file(const char* name, const char* text) {
    const auto path = folder_.path() / name;
    EXPECT_TRUE(write_file(path, text).ok());
    return path;
  }

  const TemporaryFolder folder_ = *TemporaryFolder::make();
  DaysSettings settings_{.catalog = file("tasks.toml", R"(
[[task]]
name = "digits"
latency_ms = 50
[[task.variant]]
name = "large"
accuracy = 0.99
ms = 8
joules = 0.02
bytes = 1700000
)"),
                         .trace = file("day.toml", R"(
[budget]
joules = 50
memory_mb = 2
hours = 1
[[stream]]
tasks = ["digits"]
per_hour = [10, 30]
)")};
};

TEST_F(SimulatedDaysTest, AreTheSameForOneSeedWithALogAndWithout) {
  const auto first = simulate_days(settings_);
  ASSERT_TRUE(first.ok()) << first.status().message();
  EXPECT_EQ(first->report.days, 1U);
  EXPECT_EQ(first->catalog.tasks.size(), 1U);
  EXPECT_GT(first->report.answered, 0U);
  settings_.log = folder_.path() / "log";
  const auto again = simulate_days(settings_);
  ASSERT_TRUE(again.ok());
  EXPECT_EQ(again->report.log_hash, first->report.log_hash);
  std::ifstream log(settings_.log);
  const std::string lines(std::istreambuf_iterator<char>(log), {});
  EXPECT_NE(lines.find("digits"), lines.npos) << "every decision is a line";
}

TEST_F(SimulatedDaysTest, FailAsTheirFilesDo) {
  settings_.log = folder_.path() / "no/log";
  EXPECT_EQ(simulate_days(settings_).status().message(), "cannot write " + settings_.log);
  settings_.trace = folder_.path() / "none";
  EXPECT_FALSE(simulate_days(settings_).ok());
  settings_.catalog = folder_.path() / "none";
  EXPECT_FALSE(simulate_days(settings_).ok());
}

}  // namespace
}  // namespace shoal::config
