#include <algorithm>
#include <cmath>
#include <limits>

#include "shoal/model/ops/ops.h"
#include "shoal/model/ops/ops_testing.h"

namespace shoal::ops {
namespace {

using Ints = std::vector<int64_t>;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
const Attributes kDropDims{{"keepdims", int64_t{0}}};

Attributes along(Ints axes) { return {{"axes", axes}, {"keepdims", int64_t{0}}}; }

TEST(Reduce, WithoutAxesTakesThemAll) {
  expect_output(evaluate(reduce_sum, {counting({2, 3})}), floats({1, 1}, {15}));
  expect_output(evaluate(reduce_sum, {counting({2, 3}), ints({})}, kDropDims), floats({}, {15}));
  expect_output(evaluate(reduce_max, {counting({2, 3})}, kDropDims), floats({}, {5}));
}

TEST(Reduce, WithoutAxesDoesNothingIfTold) {
  const Attributes noop{{"noop_with_empty_axes", int64_t{1}}};
  expect_output(evaluate(reduce_sum, {counting({2, 3})}, noop), counting({2, 3}));
  expect_output(evaluate(reduce_sum, {counting({2, 3}), ints({})}, noop), counting({2, 3}));
}

TEST(Reduce, TakesAxesFromTheEndAndApart) {
  expect_output(evaluate(reduce_sum, {counting({2, 2, 2}), ints({-1, 0})}, kDropDims),
                floats({2}, {10, 18}));
}

TEST(Reduce, RefusesAxesThatAreNotThereOrTwice) {
  expect_refused(evaluate(reduce_sum, {counting({2}), ints({1})}), "axis 1 is out of range");
  expect_refused(evaluate(reduce_mean, {counting({2})}, along({-2})), "axis -2 is out of range");
  expect_refused(evaluate(reduce_mean, {counting({2})}, along({0, -1})), "twice");
  expect_refused(evaluate(reduce_sum, {counting({2}), floats({1}, {0})}), "type f32");
}

TEST(Reduce, OfNothingGivesTheNeutralElement) {
  const Tensor x = counting({2, 0});
  expect_output(evaluate(reduce_sum, {x, ints({1})}, kDropDims), floats({2}, {0, 0}));
  expect_output(evaluate(reduce_prod, {x}, along({1})), floats({2}, {1, 1}));
  expect_output(evaluate(reduce_max, {x}, along({1})), floats({2}, {-kInfinity, -kInfinity}));
  expect_output(evaluate(reduce_min, {x}, along({1})), floats({2}, {kInfinity, kInfinity}));
  expect_output(evaluate(reduce_log_sum_exp, {x}, along({1})),
                floats({2}, {-kInfinity, -kInfinity}));
  expect_output(evaluate(reduce_max, {Tensor({DType::kU8, {0}})}, along({0})),
                Tensor::of<uint8_t>({}, {0}));
  expect_output(evaluate(reduce_mean, {Tensor({DType::kI32, {0}})}, along({0})),
                Tensor::of<int32_t>({}, {0}));
}

TEST(Reduce, LetsIntegersWrapAround) {
  const int32_t high = std::numeric_limits<int32_t>::max(),
                low = std::numeric_limits<int32_t>::min();
  const Tensor x = Tensor::of<int32_t>({2}, {high, 1});
  expect_output(evaluate(reduce_sum, {x}, kDropDims), Tensor::of<int32_t>({}, {low}));
  expect_output(evaluate(reduce_l1, {Tensor::of<int32_t>({1}, {low})}, kDropDims),
                Tensor::of<int32_t>({}, {low}));
  expect_output(evaluate(reduce_prod, {Tensor::of<int32_t>({2}, {high, 2})}, kDropDims),
                Tensor::of<int32_t>({}, {-2}));
}

TEST(Reduce, WorksOnNegativeIntegers) {
  const Tensor x = Tensor::of<int32_t>({3}, {-3, -4, 0});
  expect_output(evaluate(reduce_mean, {x}, kDropDims), Tensor::of<int32_t>({}, {-2}));
  expect_output(evaluate(reduce_l1, {x}, kDropDims), Tensor::of<int32_t>({}, {7}));
  expect_output(evaluate(reduce_l2, {x}, kDropDims), Tensor::of<int32_t>({}, {5}));
  expect_output(evaluate(reduce_max, {x}, kDropDims), Tensor::of<int32_t>({}, {0}));
}

TEST(Reduce, AddsManySmallNumbersToALargeOne) {
  Tensor x({DType::kF32, {1 << 20}});
  std::ranges::fill(x.data<float>(), 0.1f);
  x.data<float>()[0] = 1e6f;
  auto y = evaluate(reduce_sum, {x}, kDropDims);
  ASSERT_TRUE(y.ok());
  EXPECT_NEAR((*y)[0].data<float>()[0], 1e6f + 104857.5f, 1);
}

TEST(Reduce, RoundsToTheNearest) {
  const Tensor x = Tensor::of<BFloat16>({2}, {1, 0x3p-9f});  // three quarters of a last digit of 1
  expect_output(evaluate(reduce_sum, {x}, kDropDims), Tensor::of<BFloat16>({}, {1 + 0x1p-7f}));
}

TEST(ReduceLogSumExp, NeitherOverflowsNorLosesInfinities) {
  const Tensor x = floats({4, 2}, {1000, 1000, -1000, -1000, kInfinity, 0, -kInfinity, 3});
  auto y = evaluate(reduce_log_sum_exp, {x}, along({1}));
  ASSERT_TRUE(y.ok());
  const auto got = (*y)[0].data<float>();
  EXPECT_FLOAT_EQ(got[0], 1000 + std::log(2.0f));
  EXPECT_FLOAT_EQ(got[1], -1000 + std::log(2.0f));
  EXPECT_EQ(got[2], kInfinity);
  EXPECT_EQ(got[3], 3);
}

TEST(ArgMax, TakesTheFirstOrTheLastOfEqualOnes) {
  const Tensor x = floats({2, 3}, {1, 2, 2, 3, 0, 3});
  const Attributes axis{{"axis", int64_t{1}}, {"keepdims", int64_t{0}}};
  Attributes last = axis;
  last["select_last_index"] = int64_t{1};
  expect_output(evaluate(arg_max, {x}, axis), ints({1, 0}));
  expect_output(evaluate(arg_max, {x}, last), ints({2, 2}));
  expect_output(evaluate(arg_min, {x}, axis), ints({0, 1}));
}

TEST(ArgMax, TakesTheFirstOrTheLastNaN) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor x = floats({2, 4}, {1, nan, 3, nan, nan, 5, -kInfinity, 5});
  const Attributes axis{{"axis", int64_t{1}}, {"keepdims", int64_t{0}}};
  Attributes last = axis;
  last["select_last_index"] = int64_t{1};
  for (const Operator* op : {&arg_max, &arg_min}) {
    expect_output(evaluate(*op, {x}, axis), ints({1, 0}));
    expect_output(evaluate(*op, {x}, last), ints({3, 0}));
  }
}

TEST(ArgMax, RefusesAnAxisOfNothing) {
  expect_refused(evaluate(arg_max, {counting({0, 2})}), "no element to choose");
  expect_refused(evaluate(arg_max, {counting({2})}, {{"axis", int64_t{1}}}), "out of range");
  expect_refused(evaluate(arg_max, {counting({})}), "out of range");
}

}  // namespace
}  // namespace shoal::ops
