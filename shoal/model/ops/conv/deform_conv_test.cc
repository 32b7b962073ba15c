#include <limits>

#include "shoal/model/ops/ops.h"
#include "shoal/model/ops/ops_testing.h"

namespace shoal::ops {
namespace {

// One tap, moved by these offsets at each of the four outputs.
Result<std::vector<Tensor>> moved(std::vector<float> offsets, Tensor mask = {}) {
  const Tensor x = floats({1, 1, 2, 2}, {1, 2, 3, 4}), w = floats({1, 1, 1, 1}, {10});
  return evaluate(deform_conv, {x, w, floats({1, 2, 2, 2}, std::move(offsets)), Tensor(), mask});
}

TEST(DeformConv, IsAConvWhereNothingMoves) {
  expect_output(moved({0, 0, 0, 0, 0, 0, 0, 0}), floats({1, 1, 2, 2}, {10, 20, 30, 40}));
}

TEST(DeformConv, ReadsBetweenPixelsAndZeroOutside) {
  expect_output(moved({1, 0, 0, 0, 0, 0, 0.5f, 9}), floats({1, 1, 2, 2}, {30, 20, 35, 0}));
  expect_output(moved({-0.5f, 0, 0, 0, 0, 0, 0, std::numeric_limits<float>::quiet_NaN()}),
                floats({1, 1, 2, 2}, {5, 20, 30, 0}));
}

TEST(DeformConv, WeighsEveryPlace) {
  expect_output(moved({0, 0, 0, 0, 0, 0, 0, 0}, floats({1, 1, 2, 2}, {0, 1, 2, 3})),
                floats({1, 1, 2, 2}, {0, 20, 60, 120}));
}

TEST(DeformConv, RefusesOffsetsThatDoNotFit) {
  const Tensor x = floats({1, 1, 1, 1}, {1}), pair = floats({1, 2, 1, 1}, {0, 0});
  expect_refused(evaluate(deform_conv, {x, x, x}), "should have [1,2,1,1]");
  expect_refused(evaluate(deform_conv, {x, x, pair}, {{"offset_group", int64_t{2}}}), "divide");
  expect_refused(evaluate(deform_conv, {x, x, pair, Tensor(), pair}), "should have [1,1,1,1]");
  expect_refused(evaluate(deform_conv, {floats({1, 1, 1}, {1}), floats({1, 1, 1}, {1}), x}),
                 "images");
}

}  // namespace
}  // namespace shoal::ops
