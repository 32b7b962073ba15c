#include "shoal/shrink/compress/analysis/histogram.h"

#include <gtest/gtest.h>

#include <cmath>

namespace shoal::compress {
namespace {

// So many elements spread evenly over [low, high).
std::vector<float> spread(int count, float low, float high) {
  std::vector<float> x;
  for (int i = 0; i < count; ++i) {
    x.push_back(low + (high - low) * static_cast<float>(i) / static_cast<float>(count));
  }
  return x;
}

TEST(RangeRule, IsFoundByItsName) {
  for (RangeRule rule : kRangeRules) EXPECT_EQ(find_range_rule(name_of(rule)), rule);
  EXPECT_EQ(find_range_rule("auto"), std::nullopt);
}

TEST(Histogram, SpansWhatItSawIfItIsSpreadEvenly) {
  Histogram histogram;
  for (float size : {0.5f, 2.0f, 1.0f}) histogram.add(spread(201, -size, size));  // grows
  for (RangeRule rule : kRangeRules) {
    const Range range = histogram.range(rule);
    EXPECT_NEAR(range.low, -2, 0.1f) << name_of(rule);
    EXPECT_NEAR(range.high, 2, 0.1f) << name_of(rule);
  }
}

TEST(Histogram, CutsAFewThatLieFarOut) {
  Histogram histogram;
  for (int i = 0; i < 30; ++i) histogram.add(spread(100'000, 0, 1));
  histogram.add(std::vector<float>{8});
  EXPECT_EQ(histogram.best_range().low, 0);
  EXPECT_LT(histogram.best_range().high, 4);
  EXPECT_GT(histogram.best_range().high, 0.9f);
  EXPECT_EQ(histogram.range(RangeRule::kMinMax).high, 8);
}

// 1 in 20,000 on each side may lie outside.
TEST(Histogram, LeavesOutItsPercentileOnEachSide) {
  Histogram histogram;
  histogram.add(spread(40'000, -1, 1));
  histogram.add(std::vector<float>{-8, 8, 8});
  const Range two_may_go = histogram.range(RangeRule::kPercentile);
  EXPECT_NEAR(two_may_go.low, -1, 0.01f);
  EXPECT_NEAR(two_may_go.high, 1, 0.01f);
  histogram.add(std::vector<float>{8});
  EXPECT_EQ(histogram.range(RangeRule::kPercentile).high, 8);
  EXPECT_NEAR(histogram.range(RangeRule::kPercentile).low, -1, 0.01f);
}

// Sigmoid makes nearly 0 of all that is below -8, so that no step is worth spending there.
TEST(Histogram, SpendsNoStepsWhereTheReaderIsFlat) {
  Histogram histogram;
  histogram.add(spread(10'000, -64, 4));
  const Range plain = histogram.best_range();
  const Range read = histogram.best_range([](double x) { return 1 / (1 + std::exp(-x)); });
  EXPECT_NEAR(plain.low, -64, 2);
  EXPECT_GT(read.low, -16);
  EXPECT_LT(read.low, -3);
  EXPECT_GT(read.high, 3);
}

TEST(Histogram, TakesNothingAndNonsense) {
  Histogram histogram;
  histogram.add({});
  histogram.add(std::vector<float>{0, NAN, INFINITY});
  for (RangeRule rule : kRangeRules) EXPECT_EQ(histogram.range(rule).high, 0) << name_of(rule);
  histogram.add(std::vector<float>{1e-38f, -INFINITY});
  for (RangeRule rule : kRangeRules) EXPECT_GT(histogram.range(rule).high, 0) << name_of(rule);
}

}  // namespace
}  // namespace shoal::compress
