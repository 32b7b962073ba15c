#include "apps/commands/plans/place_settings.h"

#include <gtest/gtest.h>

#include "shoal/base/text/setting_testing.h"

namespace shoal::config {
namespace {

PlanSettings on_cluster() {
  PlanSettings plan;
  plan.network = "own";
  return plan;
}

TEST(PlaceSettings, AreDescribed) {
  PlaceSettings settings;
  expect_described(settings_of(settings));
}

TEST(PlaceSettings, PlaceSeveralStreamsOfAClusterByThemselves) {
  const PlaceSettings automatic;
  EXPECT_TRUE(automatic.is_whole(on_cluster(), 2, false));
  EXPECT_FALSE(automatic.is_whole(on_cluster(), 1, false));
  EXPECT_FALSE(automatic.is_whole(on_cluster(), 2, true));
  EXPECT_FALSE(automatic.is_whole({}, 2, false));
  EXPECT_TRUE(PlaceSettings{.place = "whole"}.is_whole(on_cluster(), 1, false));
  EXPECT_FALSE(PlaceSettings{.place = "split"}.is_whole(on_cluster(), 2, false));
}

TEST(PlaceSettings, RefuseWhatTheyDoNotGoWith) {
  const PlaceSettings whole{.place = "whole"};
  EXPECT_TRUE(whole.check(on_cluster(), false).ok());
  EXPECT_FALSE(whole.check({}, false).ok()) << "there is no cluster";
  EXPECT_FALSE(whole.check(on_cluster(), true).ok());
  PlanSettings plan = on_cluster();
  plan.survive = 1;
  EXPECT_FALSE(whole.check(plan, false).ok());
  EXPECT_TRUE(PlaceSettings().check(plan, true).ok());
  plan = on_cluster();
  plan.objective = "throughput";
  EXPECT_FALSE(whole.check(plan, false).ok());
  plan = on_cluster();
  plan.split = "rows";
  EXPECT_FALSE(whole.check(plan, false).ok());
}

}  // namespace
}  // namespace shoal::config
