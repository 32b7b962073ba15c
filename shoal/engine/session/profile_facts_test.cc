#include "shoal/engine/session/profile_facts.h"

#include <gtest/gtest.h>

namespace shoal {
namespace {

LayerProfile two_layers() {
  LayerProfile profile;
  profile.layers = {{.name = "a", .op = "Relu", .output = "f32[1]", .median_ms = 1},
                    {.name = "b",
                     .op = "Conv",
                     .output = "f32[2]",
                     .kernel = {.name = "direct"},
                     .macs = 6'000'000,
                     .median_ms = 3}};
  profile.layers[1].kernel.timing = {
      .microseconds = 10, .runner_up = "winograd2", .runner_up_microseconds = 13};
  profile.events = {{1, std::chrono::microseconds(5), std::chrono::microseconds(8)}};
  return profile;
}

TEST(ProfileFacts, PutTheSlowestFirstWhereSomeAreLeftOut) {
  const auto all = rows_of(two_layers());
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0][0].cell, "a");
  EXPECT_EQ(all[0][6].cell, "") << "no products, no rate";
  EXPECT_EQ(all[1][2].cell, "direct 1.3x winograd2");
  EXPECT_EQ(all[1][5].cell, "75.0 %");
  EXPECT_EQ(all[1][6].cell, "2.0");
  EXPECT_EQ(two_layers().slowest_ms(1), 3);
  EXPECT_EQ(two_layers().slowest_ms(5), 4);
  const auto some = rows_of(two_layers(), 1);
  ASSERT_EQ(some.size(), 1U);
  EXPECT_EQ(some[0][0].cell, "b");
}

TEST(ProfileFacts, EndWithTheRestAndTheTotal) {
  using Lines = std::vector<std::string>;
  const Lines some = table_of(two_layers(), 1).lines();
  ASSERT_EQ(some.size(), 5U) << "a header, a layer, a rule, the rest, the total";
  EXPECT_TRUE(some[1].starts_with("b ")) << some[1];
  EXPECT_EQ(some[2].find_first_not_of('-'), std::string::npos);
  EXPECT_TRUE(some[3].starts_with("1 more ")) << some[3];
  EXPECT_TRUE(some[3].ends_with(" 1.000  25.0 %")) << some[3];
  EXPECT_TRUE(some[4].starts_with("total ") && some[4].ends_with(" 4.000")) << some[4];
  EXPECT_EQ(table_of(two_layers()).lines().size(), 5U) << "both layers, and none left out";
  EXPECT_EQ(table_of(LayerProfile()).lines().size(), 3U);
}

TEST(ProfileFacts, HaveSumsThatScriptsWatchThoughTheyAreZero) {
  const std::string json = to_json(two_layers()).dump();
  EXPECT_NE(json.find(R"("direct":3.0,"reference":0.0,"reorder":0.0)"), json.npos) << json;
  EXPECT_NE(json.find(R"("runner_up":"winograd2")"), json.npos) << json;
  EXPECT_NE(json.find(R"("tuning":null)"), json.npos) << json;
  EXPECT_NE(json.find(R"("total_ms":4.0)"), json.npos) << json;
}

TEST(ProfileFacts, OfARunAreEventsForPerfetto) {
  EXPECT_EQ(to_perfetto(two_layers()).dump(),
            R"({"displayTimeUnit":"ms","traceEvents":[{"args":{"kernel":"direct","macs":6000000,)"
            R"("output":"f32[2]"},"cat":"Conv","dur":3.0,"name":"b","ph":"X","pid":1,"tid":1,)"
            R"("ts":5.0}]})");
}

}  // namespace
}  // namespace shoal
