#include <gtest/gtest.h>

#include <limits>

#include "shoal/model/ops/ops.h"
#include "shoal/model/ops/ops_testing.h"

namespace shoal::ops {
namespace {

// Reads a row of four elements, 0 1 2 3, at x.
float read(float x, const char* mode, const char* padding, bool align = false) {
  auto y = evaluate(grid_sample, {counting({1, 1, 1, 4}), floats({1, 1, 1, 2}, {x, 0})},
                    {{"mode", std::string(mode)},
                     {"padding_mode", std::string(padding)},
                     {"align_corners", int64_t{align}}});
  EXPECT_TRUE(y.ok());
  return (*y)[0].data<float>()[0];
}

TEST(GridSample, PutsTheBordersAtCornersOrCentres) {
  EXPECT_FLOAT_EQ(read(0, "bilinear", "zeros"), 1.5f);
  EXPECT_FLOAT_EQ(read(-1, "bilinear", "border", true), 0);
  EXPECT_FLOAT_EQ(read(1, "bilinear", "border", true), 3);
  EXPECT_FLOAT_EQ(read(0.75f, "bilinear", "zeros"), 3);
}

TEST(GridSample, PadsAsItIsTold) {
  EXPECT_FLOAT_EQ(read(1, "bilinear", "zeros"), 1.5f);  // half of it lies outside
  EXPECT_FLOAT_EQ(read(9, "bilinear", "zeros"), 0);
  EXPECT_FLOAT_EQ(read(9, "bilinear", "border"), 3);
  EXPECT_FLOAT_EQ(read(1.5f, "bilinear", "reflection"), 2.5f);
  EXPECT_FLOAT_EQ(read(1 + 4 / 3.0f, "nearest", "reflection", true), 1);
}

TEST(GridSample, RoundsHalvesToEven) {
  EXPECT_FLOAT_EQ(read(-0.5f, "nearest", "zeros"), 0);
  EXPECT_FLOAT_EQ(read(0, "nearest", "zeros"), 2);
}

// The grid is computed at run time: it may hold anything.
TEST(GridSample, SurvivesAnyPlace) {
  const float inf = std::numeric_limits<float>::infinity();
  for (const char* mode : {"nearest", "bilinear", "bicubic"}) {
    for (const char* padding : {"zeros", "border", "reflection"}) {
      for (float x : {inf, -inf, std::numeric_limits<float>::quiet_NaN(), 1e38f, -1e38f}) {
        for (bool align : {false, true}) {
          const float y = read(x, mode, padding, align);
          EXPECT_TRUE(y >= 0 && y <= 3) << mode << " " << padding << " " << x;
        }
      }
    }
  }
}

TEST(GridSample, ReadsVolumes) {
  expect_output(
      evaluate(grid_sample, {counting({1, 1, 2, 2, 2}), floats({1, 1, 1, 1, 3}, {0, 0, 0})}),
      floats({1, 1, 1, 1, 1}, {3.5f}));
}

TEST(GridSample, RefusesAGridThatDoesNotFit) {
  const Tensor x = counting({1, 1, 2, 2});
  expect_refused(evaluate(grid_sample, {x, counting({2, 1, 1, 2})}), "does not fit");
  expect_refused(evaluate(grid_sample, {x, counting({1, 1, 1, 3})}), "does not fit");
  expect_refused(evaluate(grid_sample, {x, counting({1, 1, 2})}), "rank");
  expect_refused(evaluate(grid_sample, {counting({1, 1, 2}), counting({1, 1, 1})}), "rank");
  expect_refused(evaluate(grid_sample, {x, counting({1, 1, 1, 2})}, {{"mode", std::string("x")}}),
                 "unknown");
}

}  // namespace
}  // namespace shoal::ops
