#include "shoal/shrink/exits/thresholds/drop_calibration.h"

#include <gtest/gtest.h>

#include <cmath>

#include "shoal/shrink/exits/network/multi_exit.h"
#include "shoal/shrink/exits/thresholds/known_scores_testing.h"

namespace shoal::exits {
namespace {

using testing::drawn;
using testing::kMacs;
using testing::lost;
using testing::World;

TEST(CalibrateForDrop, MakesProbabilitiesThatAreTrue) {
  std::mt19937 rng(12);
  constexpr size_t kImages = 2'000;
  const World world = drawn(kImages, rng);
  const auto result = calibrate_for_drop(world.scores, {}, kMacs);
  ASSERT_TRUE(result.ok());
  const Verdicts verdicts = verdicts_of(scaled(world.scores, result->scales));
  for (size_t e = 0; e < result->scales.size(); ++e) {
    double said = 0, right = 0;
    for (const Verdict& verdict : verdicts.exits[e]) {
      said += verdict.probability / kImages;
      right += verdict.correct ? 1.0 / kImages : 0;
    }
    EXPECT_NEAR(said, right, 0.03) << e;
  }
}

TEST(CalibrateForDrop, LetsExitsAnswerMoreTheMoreMayBeLost) {
  std::mt19937 rng(13);
  const World world = drawn(800, rng);
  double before = 101;
  for (double points : {0.2, 1.0, 5.0, 100.0}) {
    const auto result = calibrate_for_drop(world.scores, {points, 0.05}, kMacs);
    ASSERT_TRUE(result.ok());
    const double macs = lost(world, result->scales, result->thresholds).macs;
    EXPECT_LT(macs, before) << points;
    before = macs;
  }
  EXPECT_NEAR(before, 28, 0.5);  // the first exit answers all there is
}

TEST(CalibrateForDrop, AnswersNothingEarlyWhereImagesAreTooFew) {
  // 80 images cannot show 0.3 points, were all answers of exits those of the last classifier.
  std::mt19937 rng(14);
  World world = drawn(80, rng);
  for (auto& exit : world.scores.exits) exit = world.scores.exits.back();
  const auto result = calibrate_for_drop(world.scores, {0.3, 0.05}, kMacs);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(result->thresholds, std::vector<double>(3, kNever));
  EXPECT_EQ(
      calibrate_for_drop({.exits = std::vector<std::vector<float>>(4)}, {}, kMacs)->thresholds,
      std::vector<double>(3, kNever));
}

TEST(CalibrateForDrop, TakesScoresThatAreNoNumbers) {
  std::mt19937 rng(15);
  World world = drawn(500, rng);
  world.scores.exits[1][3] = std::nanf("");
  world.scores.exits[3][5] = -std::numeric_limits<float>::infinity();
  const auto result = calibrate_for_drop(world.scores, {2, 0.05}, kMacs);
  ASSERT_TRUE(result.ok()) << result.status().message();
  for (double scale : result->scales) EXPECT_TRUE(std::isfinite(scale) && scale > 0);
}

TEST(CalibrateForDrop, RefusesWhatHasNoMeaning) {
  std::mt19937 rng(16);
  World world = drawn(50, rng);
  for (const WantedDrop& bad :
       {WantedDrop{-1, 0.05}, WantedDrop{1, 0}, WantedDrop{1, 1}, WantedDrop{std::nan(""), 0.05}}) {
    EXPECT_FALSE(calibrate_for_drop(world.scores, bad, kMacs).ok());
  }
  world.scores.labels[3] = 10;
  EXPECT_FALSE(calibrate_for_drop(world.scores, {}, kMacs).ok());
}

}  // namespace
}  // namespace shoal::exits
