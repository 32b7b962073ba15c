#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "shoal/base/math/random.h"
#include "shoal/shrink/prune/latency/latency_table.h"

namespace shoal::shrink {
namespace {

// Blocks of 16 by blocks of 16, and a little for each channel.
double stairs(const Widths& widths) {
  const auto blocks = [](int64_t width) { return std::ceil(static_cast<double>(width) / 16); };
  return 0.1 + blocks(widths[0]) * blocks(widths[1]) + 0.01 * static_cast<double>(widths[0]);
}

std::vector<WidthSample> samples_of(size_t count) {
  const RandomStream random(1, 2);
  const std::vector<int64_t> a = stair_knots(1, 64, 16), b = stair_knots(1, 48, 16);
  std::vector<WidthSample> samples;
  for (size_t i = 0; i < count; ++i) {
    const Widths widths = {a[random.below(a.size(), 2 * i)], b[random.below(b.size(), 2 * i + 1)]};
    samples.push_back({widths, stairs(widths)});
  }
  return samples;
}

// The relative errors at all widths, ascending.
std::vector<double> errors_of(const WidthSurface& surface) {
  std::vector<double> errors;
  for (int64_t a = 1; a <= 64; ++a) {
    for (int64_t b = 1; b <= 48; ++b) {
      errors.push_back(std::abs(surface.at({a, b}) / stairs({a, b}) - 1));
    }
  }
  std::ranges::sort(errors);
  return errors;
}

TEST(StairKnots, StandAtBothEndsOfAStep) {
  EXPECT_EQ(stair_knots(4, 34, 16),
            (std::vector<int64_t>{4, 5, 6, 7, 8, 9, 12, 16, 17, 24, 32, 33, 34}));
  EXPECT_EQ(stair_knots(20, 20, 16), std::vector<int64_t>{20});
  EXPECT_EQ(stair_knots(0, 0, 16), std::vector<int64_t>{0});
  const std::vector<int64_t> wide = stair_knots(1, 2048, 16);
  EXPECT_LE(wide.size(), kMostKnots);
  EXPECT_EQ(wide.back(), 2048);
  EXPECT_EQ(stair_knots(7, 26, 8), (std::vector<int64_t>{7, 8, 9, 12, 16, 17, 20, 24, 25, 26}));
  EXPECT_EQ(stair_knots(1, 20, 1).size(), 20u);  // no blocks: every width is an end
}

TEST(WidthSurface, FollowsStairs) {
  const WidthSurface surface = WidthSurface::fit(samples_of(2000), 16);
  EXPECT_LT(errors_of(surface).back(), 0.02);
  EXPECT_NEAR(surface.at({32, 32}), stairs({32, 32}), 0.01);
  EXPECT_NEAR(surface.at({33, 32}), stairs({33, 32}), 0.02);
  EXPECT_EQ(surface.at({65, 100}), surface.at({64, 48}));
}

TEST(WidthSurface, KnowsBlocksBetweenKnotsThatAreFarApart) {
  std::vector<WidthSample> samples;
  for (int64_t width : stair_knots(1, 512, 16))
    samples.push_back({{width, 0}, stairs({width, 16})});
  const WidthSurface surface = WidthSurface::fit(samples, 16);
  EXPECT_LT(surface.at({304, 0}) + 0.4, surface.at({305, 0}));
  EXPECT_NEAR(surface.at({304, 0}), stairs({304, 16}), 0.6);
}

TEST(WidthSurface, HasTheStairsOfItsDevice) {
  const auto jump = [](int64_t block) {
    std::vector<WidthSample> samples;
    for (int64_t width : stair_knots(1, 256, block)) {
      samples.push_back({{width, 0}, static_cast<double>((width + block - 1) / block)});
    }
    const WidthSurface surface = WidthSurface::fit(samples, block);
    return surface.at({217, 0}) - surface.at({216, 0});
  };
  EXPECT_GT(jump(8), 0.4);  // a block ends there, between knots
  EXPECT_LT(jump(16), 0.2);
}

TEST(WidthSurface, LeavesDisturbedSamplesOut) {
  std::vector<WidthSample> samples = samples_of(2000);
  for (size_t i = 0; i < samples.size(); i += 20) samples[i].ms *= 5;
  // Some knots have no other sample.
  const std::vector<double> errors = errors_of(WidthSurface::fit(samples, 16));
  EXPECT_LT(errors[errors.size() * 95 / 100], 0.05);
}

TEST(WidthSurface, GoesOnWhereNothingWasMeasured) {
  std::vector<WidthSample> samples;
  for (int64_t width : {1, 2, 3, 4, 5, 6, 7, 16}) {
    samples.push_back({{width, 0}, static_cast<double>(width)});
  }
  const WidthSurface line = WidthSurface::fit(samples, 16);
  EXPECT_GT(line.at({9, 0}), 7);
  EXPECT_LT(line.at({9, 0}), 16);
  const std::vector<WidthSample> single = {{{8, 8}, 3.0}};
  EXPECT_NEAR(WidthSurface::fit(single, 16).at({2, 2}), 3, 1e-6);
  EXPECT_EQ(WidthSurface().at({5, 5}), 0);
}

}  // namespace
}  // namespace shoal::shrink
