#include "shoal/cluster/chaos/processes/chaos_settings.h"

#include <gtest/gtest.h>

#include "shoal/base/text/setting_testing.h"

namespace shoal::chaos {
namespace {

TEST(ChaosSettings, AreDescribed) {
  ChaosSettings settings;
  const SettingList all = joined({fault_settings(settings), request_settings(settings)});
  expect_described(all);
}

TEST(ChaosSettings, KillWhereNoFaultIsNamed) {
  const auto usual = completed({}, false);
  ASSERT_TRUE(usual.ok());
  EXPECT_EQ(usual->run.faults.kills, 10U);
  EXPECT_EQ(usual->run.faults.sum(), 10U);
  EXPECT_EQ(completed({}, true)->run.faults.sum(), 0U) << "none is what was asked for";
}

TEST(ChaosSettings, TakeAllKindsForATime) {
  const auto endless = completed({.run = {.seconds = 3}}, false);
  ASSERT_TRUE(endless.ok());
  EXPECT_GT(endless->run.faults.corruptions, 0U);
  EXPECT_EQ(endless->overload.seconds, 3);
}

TEST(ChaosSettings, LeaveOverloadAlone) {
  const auto overloaded = completed({.overload = {.times = 10}}, false);
  ASSERT_TRUE(overloaded.ok());
  EXPECT_EQ(overloaded->run.faults.sum(), 0U);
}

TEST(ChaosSettings, AreTheClusterToOpen) {
  const ChaosSettings settings{
      .cluster = "c.toml", .dilation = 3, .lies = 5, .verify = 7, .run = {.seed = 11}};
  const ChaosClusterOptions options = cluster_options(settings, "shoal");
  EXPECT_EQ(options.program, "shoal");
  EXPECT_EQ(options.cluster_file, "c.toml");
  EXPECT_EQ(options.dilation, 3);
  EXPECT_EQ(options.seed, 11U);
  EXPECT_EQ(options.lies, 5U);
  EXPECT_EQ(options.verify, 7U);
  EXPECT_TRUE(options.workers.empty()) << "they are added";
  EXPECT_TRUE(settings.is_emulated());
  EXPECT_FALSE(ChaosSettings().is_emulated());
}

TEST(ChaosSettings, FindLiarsWhereRequestsAreChecked) {
  const auto finds = [](uint64_t lies, uint64_t verify) {
    return ChaosSettings{.lies = lies, .verify = verify}.finds_liars();
  };
  EXPECT_TRUE(finds(100, 10));
  EXPECT_FALSE(finds(0, 10));
  EXPECT_FALSE(finds(100, 0));
}

TEST(ChaosSettings, HaveAPageOfProcessesOnly) {
  EXPECT_TRUE(completed({.html = "a.html"}, false).ok());
  EXPECT_FALSE(completed({.sim = true, .html = "a.html"}, false).ok());
  EXPECT_FALSE(completed({.overload = {.times = 2}, .html = "a.html"}, false).ok());
}

}  // namespace
}  // namespace shoal::chaos
