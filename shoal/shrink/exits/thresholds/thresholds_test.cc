#include "shoal/shrink/exits/thresholds/thresholds.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "shoal/shrink/exits/network/multi_exit.h"

namespace shoal::exits {
namespace {

TEST(ChanceOfAtMost, IsThatOfTheBinomialDistribution) {
  EXPECT_NEAR(chance_of_at_most(0, 299, 0.01), std::pow(0.99, 299), 1e-12);
  EXPECT_NEAR(chance_of_at_most(1, 3, 0.5), 0.5, 1e-12);
  EXPECT_NEAR(chance_of_at_most(2, 3, 0.5), 7.0 / 8, 1e-12);
  EXPECT_NEAR(chance_of_at_most(3, 3, 0.5), 1, 1e-12);
  EXPECT_NEAR(chance_of_at_most(9, 3, 0.5), 1, 1e-12);
  EXPECT_NEAR(chance_of_at_most(0, 0, 0.5), 1, 1e-12);
}

TEST(ChanceOfAtMost, IsHalfAtTheMeanOfAMillionTrials) {
  EXPECT_NEAR(chance_of_at_most(10'000, 1'000'000, 0.01), 0.5, 0.01);
  EXPECT_LT(chance_of_at_most(9'000, 1'000'000, 0.01), 1e-20);
}

// Planted: an answer of probability p is wrong with probability worse (1 - p)^2, for p uniform in
// [0.5, 1]. So the precision above a threshold t is 1 - worse (1 - t)^2 / 3.
std::vector<Verdict> planted(size_t images, double worse, std::mt19937& rng) {
  std::uniform_real_distribution<double> uniform(0, 1);
  std::vector<Verdict> verdicts;
  for (size_t i = 0; i < images; ++i) {
    const double p = 0.5 + uniform(rng) / 2;
    verdicts.push_back({p, uniform(rng) >= worse * (1 - p) * (1 - p)});
  }
  return verdicts;
}

// With one exit before the last classifier.
Verdicts planted_once(size_t images, double worse, std::mt19937& rng) {
  return {.exits = {planted(images, worse, rng), planted(images, worse, rng)}};
}

double precision_above(double threshold, double worse) {
  return 1 - worse * (1 - threshold) * (1 - threshold) / 3;
}

TEST(ThresholdsForPrecision, HoldOnOtherImagesButForTheRisk) {
  std::mt19937 rng(5);
  constexpr int kTrials = 400;
  int wrong = 0, found = 0;
  for (int trial = 0; trial < kTrials; ++trial) {
    const auto thresholds = thresholds_for_precision(planted_once(1500, 0.6, rng), {0.98, 0.05});
    ASSERT_TRUE(thresholds.ok());
    if ((*thresholds)[0] > 1) continue;
    ++found;
    wrong += precision_above((*thresholds)[0], 0.6) < 0.98 ? 1 : 0;
  }
  EXPECT_GT(found, kTrials / 2);
  // At the risk of 5 %, 400 trials exceed 34 with a chance of 0.001.
  EXPECT_LE(wrong, 34);
}

TEST(ThresholdsForPrecision, AreLowerTheMoreImagesThereAre) {
  std::mt19937 rng(6);
  const auto few = thresholds_for_precision(planted_once(500, 0.6, rng), {0.98, 0.05});
  const auto many = thresholds_for_precision(planted_once(50'000, 0.6, rng), {0.98, 0.05});
  ASSERT_TRUE(few.ok() && many.ok());
  EXPECT_LT((*many)[0], (*few)[0]);
  EXPECT_NEAR((*many)[0], 1 - std::sqrt(0.1), 0.07);  // where the precision is 0.98; in tenths
}

TEST(ThresholdsForPrecision, AreNeverWhereImagesAreTooFewToShowIt) {
  // 298 right answers of 298 do not show 99 % at a risk of 5 %; 299 do.
  Verdicts verdicts{.exits = {std::vector<Verdict>(298, {0.9, true}), {}}};
  verdicts.exits[1] = verdicts.exits[0];
  EXPECT_EQ((*thresholds_for_precision(verdicts, {0.99, 0.05}))[0], kNever);
  for (auto& exit : verdicts.exits) exit.push_back({0.9, true});
  EXPECT_EQ((*thresholds_for_precision(verdicts, {0.99, 0.05}))[0], 0.9);
}

TEST(ThresholdsForPrecision, KeepImagesOfOneProbabilityTogether) {
  // The first thousand are right; the second, of the same probability, are wrong.
  Verdicts verdicts{.exits = {std::vector<Verdict>(1000, {1.0, true}), {}}};
  verdicts.exits[0].resize(2000, {1.0, false});
  verdicts.exits[1] = verdicts.exits[0];
  EXPECT_EQ((*thresholds_for_precision(verdicts, {0.9, 0.05}))[0], kNever);
}

TEST(ThresholdsForPrecision, HoldALaterExitToTheImagesThatAreLeft) {
  // Exit 2 is right about the images that exit 1 answers and 60 % of the others. Over all images,
  // 92 % of its answers are right.
  Verdicts verdicts{.exits = std::vector<std::vector<Verdict>>(3)};
  for (size_t i = 0; i < 4000; ++i) {
    const bool easy = i % 5 != 0;
    verdicts.exits[0].push_back({easy ? 0.99 : 0.3, easy});
    verdicts.exits[1].push_back({0.9, easy || i % 25 < 15});
    verdicts.exits[2].push_back({0.9, true});
  }
  const auto thresholds = thresholds_for_precision(verdicts, {0.9, 0.05});
  ASSERT_TRUE(thresholds.ok());
  EXPECT_EQ((*thresholds)[0], 0.99);
  EXPECT_EQ((*thresholds)[1], kNever);
}

TEST(ThresholdsForPrecision, RefuseSharesThatAreNone) {
  for (double bad : {0.0, 1.0, -1.0, 2.0, std::nan("")}) {
    EXPECT_FALSE(thresholds_for_precision({}, {bad, 0.05}).ok()) << bad;
    EXPECT_FALSE(thresholds_for_precision({}, {0.99, bad}).ok()) << bad;
  }
}

TEST(FiguresWith, CountWhatRuns) {
  // Four images: one leaves at the first exit and is right, one at the second and is wrong.
  const Verdicts verdicts{.exits = {{{0.9, true}, {0.2, false}, {0.3, false}, {0.1, true}},
                                    {{0.1, false}, {0.8, false}, {0.3, true}, {0.2, false}},
                                    {{0.5, false}, {0.5, true}, {0.5, true}, {0.5, true}}}};
  const std::vector<int64_t> macs{100, 10, 1};
  const Figures figures = figures_with(verdicts, std::vector<double>{0.9, 0.8}, macs);
  EXPECT_EQ(figures.top1, 75);
  EXPECT_EQ(figures.share, (std::vector<double>{0.25, 0.25, 0.5}));
  EXPECT_EQ(figures.precision, (std::vector<double>{100, 0, 100}));
  EXPECT_DOUBLE_EQ(figures.mean_macs, 100 + 0.75 * 10 + 0.5 * 1);
}

TEST(FiguresWith, AreZeroWithoutImages) {
  const Figures figures =
      figures_with({.exits = {{}, {}}}, std::vector<double>{0.5}, std::vector<int64_t>{3, 4});
  EXPECT_EQ(figures.top1, 0);
  EXPECT_EQ(figures.mean_macs, 0);
}

TEST(ThresholdsForDrop, SaveWorkWithinTheLimit) {
  std::mt19937 rng(7);
  const Verdicts verdicts{
      .exits = {planted(1000, 2.4, rng), planted(1000, 1.2, rng), planted(1000, 0.1, rng)}};
  const std::vector<int64_t> macs{30, 30, 40};
  const double last = figures_with(verdicts, std::vector<double>(2, kNever), macs).top1;
  double before = 101;
  for (double drop : {0.0, 1.0, 4.0}) {
    const Figures figures = figures_with(verdicts, thresholds_for_drop(verdicts, drop, macs), macs);
    EXPECT_GE(figures.top1, last - drop);
    EXPECT_LT(figures.mean_macs, before);
    before = figures.mean_macs;
  }
}

TEST(ThresholdsForDrop, AreTheBestPairThereIs) {
  // The first exit is right about the images that it is sure of, the second about none.
  Verdicts verdicts{.exits = std::vector<std::vector<Verdict>>(3)};
  for (size_t i = 0; i < 100; ++i) {
    verdicts.exits[0].push_back({i < 60 ? 0.9 : 0.2, i < 60});
    verdicts.exits[1].push_back({0.9, false});
    verdicts.exits[2].push_back({0.9, true});
  }
  const std::vector<int64_t> macs{1, 1, 1};
  const auto thresholds = thresholds_for_drop(verdicts, 0, macs);
  EXPECT_EQ(thresholds[0], 0.9);
  EXPECT_GT(thresholds[1], 0.9);
}

}  // namespace
}  // namespace shoal::exits
