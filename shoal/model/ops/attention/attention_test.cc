#include <gtest/gtest.h>

#include <limits>

#include "shoal/model/ops/ops.h"
#include "shoal/model/ops/ops_testing.h"

namespace shoal::ops {
namespace {

TEST(Attention, LooksOnlyWhereTheMaskLetsIt) {
  const float off = -std::numeric_limits<float>::infinity();
  const Tensor q({DType::kF32, {1, 1, 2, 3}}), k({DType::kF32, {1, 1, 2, 3}});
  const Tensor v = floats({1, 1, 2, 1}, {4, 8});
  expect_output(evaluate(attention, {q, k, v}), floats({1, 1, 2, 1}, {6, 6}));
  expect_output(evaluate(attention, {q, k, v, floats({2, 2}, {0, off, off, 0})}),
                floats({1, 1, 2, 1}, {4, 8}));
}

TEST(Attention, RefusesShapesThatDoNotFit) {
  auto shaped = [](Shape shape) { return Tensor({DType::kF32, shape}); };
  const Tensor q = shaped({2, 3, 4, 5}), k = shaped({2, 3, 6, 5}), v = shaped({2, 3, 6, 7});
  EXPECT_TRUE(evaluate(attention, {q, k, v}).ok());
  expect_refused(evaluate(attention, {shaped({3, 4, 5}), k, v}), "rank");
  expect_refused(evaluate(attention, {q, shaped({2, 1, 6, 5}), v}), "heads");
  expect_refused(evaluate(attention, {q, shaped({2, 3, 6, 4}), v}), "depth");
  expect_refused(evaluate(attention, {q, k, shaped({2, 3, 5, 7})}), "as many values as keys");
  expect_refused(evaluate(attention, {q, k, v, shaped({4, 5})}), "broadcast");
  expect_refused(evaluate(attention, {q, k, v, shaped({2, 2, 3, 4, 6})}), "mask");
}

}  // namespace
}  // namespace shoal::ops
