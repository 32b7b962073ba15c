// The value of a calibrated loss on other images: many draws, in which sanitizers would see nothing
// that they do not see in drop_calibration_test.
#include <gtest/gtest.h>

#include "shoal/shrink/exits/network/multi_exit.h"
#include "shoal/shrink/exits/thresholds/known_scores_testing.h"

namespace shoal::exits {
namespace {

using testing::drawn;
using testing::kMacs;
using testing::Lost;
using testing::lost;
using testing::World;

// The loss holds on other images, within the risk. Thresholds counted on the same images do not.
TEST(CalibrateForDrop, HoldsOnOtherImagesWhereCountingDoesNot) {
  constexpr int kSeeds = 30, kCounted = 6;
  constexpr double kPoints = 0.3;
  std::mt19937 rng(11);
  const World others = drawn(6'000, rng);
  int wrong = 0, wrong_by_count = 0;
  double macs = 0;
  for (int seed = 0; seed < kSeeds; ++seed) {
    const World world = drawn(2'000, rng);
    const auto result = calibrate_for_drop(world.scores, {kPoints, 0.05}, kMacs);
    ASSERT_TRUE(result.ok()) << result.status().message();
    const Lost now = lost(others, result->scales, result->thresholds);
    wrong += now.points > kPoints ? 1 : 0;
    macs += now.macs / kSeeds;
    if (seed >= kCounted) continue;  // which takes longer
    const auto counted = thresholds_for_drop(verdicts_of(world.scores), kPoints, kMacs);
    const std::vector<double> as_they_are(counted.size(), 1);
    wrong_by_count += lost(others, as_they_are, counted).points > kPoints ? 1 : 0;
  }
  EXPECT_LE(wrong, 5);  // at the risk of 5 %, 30 seeds exceed that with a chance of 0.003
  EXPECT_GE(wrong_by_count, kCounted / 2);
  EXPECT_LT(macs, 70);  // of 100: exits do answer
}

}  // namespace
}  // namespace shoal::exits
