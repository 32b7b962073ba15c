#include "shoal/chaos/processes/chaos_settings.h"

#include <gtest/gtest.h>

#include "shoal/base/setting_testing.h"

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

TEST(ChaosSettings, HaveAPageOfProcessesOnly) {
  EXPECT_TRUE(completed({.html = "a.html"}, false).ok());
  EXPECT_FALSE(completed({.sim = true, .html = "a.html"}, false).ok());
  EXPECT_FALSE(completed({.overload = {.times = 2}, .html = "a.html"}, false).ok());
}

}  // namespace
}  // namespace shoal::chaos
