#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "shoal/shrink/compress/quantization/scales.h"

namespace shoal::compress {
namespace {

TEST(WeightScales, SpanTheLargestOfEachChannel) {
  const Tensor w = Tensor::of<float>({2, 3}, {1, -12.7f, 3, 0.5f, 0.25f, 1.27f});
  const auto rows = weight_scales({&w, nullptr, 0}, 1, RangeRule::kMinMax);
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_FLOAT_EQ(rows[0], 0.1f);
  EXPECT_FLOAT_EQ(rows[1], 0.01f);
  const auto columns = weight_scales({&w, nullptr, 1}, 1, RangeRule::kMinMax);
  ASSERT_EQ(columns.size(), 3u);
  EXPECT_FLOAT_EQ(columns[1], 0.1f);
}

// Many small weights and one large: the error of clamping it is less than that of rounding all
// others coarsely.
TEST(WeightScales, ByMseHaveTheLeastError) {
  std::mt19937 rng(1);
  std::normal_distribution<float> normal;
  Tensor w({DType::kF32, {1, 100'000}});
  for (float& x : w.data<float>()) x = normal(rng);
  w.data<float>()[7] = 6;
  const WeightedProduct product{&w, nullptr, 0};
  const auto error = [&](float scale) {
    double sum = 0;
    for (float x : w.data<float>()) {
      const double near = scale * std::clamp(std::nearbyint(x / scale), -127.0f, 127.0f);
      sum += (x - near) * (x - near);
    }
    return sum;
  };
  const float whole = weight_scales(product, 1, RangeRule::kMinMax)[0];
  const float best = weight_scales(product, 1, RangeRule::kMse)[0];
  EXPECT_LT(best, whole);
  EXPECT_LT(error(best), error(whole));
}

TEST(WeightScales, ByPercentileLeaveOutOneOfTenThousand) {
  Tensor w({DType::kF32, {1, 10'000}});
  for (size_t i = 0; i < 10'000; ++i) w.data<float>()[i] = i == 77 ? 254.0f : 1.27f;
  EXPECT_FLOAT_EQ(weight_scales({&w, nullptr, 0}, 1, RangeRule::kPercentile)[0], 0.01f);
  w.data<float>()[78] = 254;
  EXPECT_FLOAT_EQ(weight_scales({&w, nullptr, 0}, 1, RangeRule::kPercentile)[0], 2);
}

TEST(WeightScales, LetTheBiasFitAndTakeNonsense) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor w = Tensor::of<float>({3, 2}, {0, 0, 1e-30f, 0, nan, INFINITY});
  const Tensor b = Tensor::of<float>({3}, {0, 4, 0});
  for (RangeRule rule : kRangeRules) {
    const auto scales = weight_scales({&w, &b, 0}, 0.5f, rule);
    EXPECT_EQ(scales[0], 1);
    EXPECT_LE(4 / 0.5f / scales[1], 0x1p28f * 1.001f);
    EXPECT_EQ(scales[2], 1);
  }
}

}  // namespace
}  // namespace shoal::compress
