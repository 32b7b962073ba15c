#include "shoal/model/ops/image/roi.h"

#include <gtest/gtest.h>

#include <limits>

#include "shoal/model/ops/ops.h"
#include "shoal/model/ops/ops_testing.h"

namespace shoal::ops {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

Attributes bins(int64_t height, int64_t width, Attributes more = {}) {
  more["output_height"] = height;
  more["output_width"] = width;
  return more;
}

TEST(RoiAlign, ReadsBetweenElements) {
  // One sample in the middle of a box that covers the four elements.
  expect_output(
      evaluate(roi_align, {counting({1, 1, 2, 2}), floats({1, 4}, {0, 0, 2, 2}), ints({0})},
               bins(1, 1, {{"sampling_ratio", int64_t{1}}})),
      floats({1, 1, 1, 1}, {1.5f}));
}

TEST(RoiAlign, TakesTheLargestWeightedNeighbour) {
  expect_output(
      evaluate(roi_align, {counting({1, 1, 2, 2}), floats({1, 4}, {0, 0, 2, 2}), ints({0})},
               bins(1, 1, {{"sampling_ratio", int64_t{1}}, {"mode", std::string("max")}})),
      floats({1, 1, 1, 1}, {0.75f}));
}

// Boxes and indices are elements: they may be anything when it runs.
TEST(RoiAlign, SurvivesAnyBox) {
  const Tensor image = counting({1, 1, 3, 3});
  for (float far : {kInfinity, -kInfinity, kNaN, 1e30f, -1e30f}) {
    for (int64_t ratio : {0, 2}) {
      auto y = evaluate(roi_align,
                        {image, floats({2, 4}, {far, 0, 1, far, -far, far, 2, 2}), ints({0, 0})},
                        bins(2, 2, {{"sampling_ratio", ratio}}));
      EXPECT_TRUE(y.ok());
    }
  }
}

TEST(RoiAlign, GivesZeroForAnImageThatIsNotThere) {
  expect_output(evaluate(roi_align, {counting({1, 1, 2, 2}),
                                     floats({2, 4}, {0, 0, 2, 2, 0, 0, 2, 2}), ints({-1, 1})}),
                floats({2, 1, 1, 1}, {0, 0}));
}

TEST(RoiAlign, RefusesWhatItCannotMean) {
  const Tensor image = counting({1, 1, 2, 2}), box = floats({1, 4}, {0, 0, 1, 1}),
               first = ints({0});
  expect_refused(evaluate(roi_align, {image, box, ints({0, 0})}), "one batch index");
  expect_refused(evaluate(roi_align, {image, floats({1, 3}, {0, 0, 1}), first}), "4 numbers");
  expect_refused(evaluate(roi_align, {image, box, first}, bins(0, 1)), "at least one");
  expect_refused(evaluate(roi_align, {image, box, first}, {{"sampling_ratio", int64_t{-1}}}),
                 "range");
  expect_refused(evaluate(roi_align, {image, box, first}, {{"sampling_ratio", int64_t{1} << 40}}),
                 "range");
  expect_refused(evaluate(roi_align, {image, box, first}, {{"mode", std::string("min")}}),
                 "unknown");
}

TEST(MaxRoiPool, TakesTheMaximumOfEachBin) {
  expect_output(evaluate(max_roi_pool, {counting({1, 1, 4, 4}), floats({1, 5}, {0, 0, 0, 3, 3})},
                         {{"pooled_shape", std::vector<int64_t>{2, 2}}}),
                floats({1, 1, 2, 2}, {5, 7, 13, 15}));
}

TEST(MaxRoiPool, SurvivesAnyBox) {
  const Attributes attributes = {{"pooled_shape", std::vector<int64_t>{2, 2}}};
  for (float far : {kInfinity, -kInfinity, kNaN, 1e30f}) {
    for (float index : {0.0f, far}) {
      auto y =
          evaluate(max_roi_pool, {counting({1, 1, 3, 3}), floats({1, 5}, {index, far, 0, 1, far})},
                   attributes);
      EXPECT_TRUE(y.ok());
    }
  }
}

TEST(MaxRoiPool, NeedsAShape) {
  expect_refused(evaluate(max_roi_pool, {counting({1, 1, 3, 3}), floats({1, 5}, {0, 0, 0, 1, 1})}),
                 "pooled_shape");
}

}  // namespace
}  // namespace shoal::ops
