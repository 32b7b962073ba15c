// Operators that make tensors from sizes and numbers: Range, ConstantOfShape, OneHot, Shape.
#include <cmath>
#include <limits>

#include "shoal/model/ops/ops.h"
#include "shoal/model/ops/ops_testing.h"

namespace shoal::ops {
namespace {

constexpr int64_t kLowest = std::numeric_limits<int64_t>::min();
constexpr int64_t kHighest = std::numeric_limits<int64_t>::max();

template <class T>
Result<std::vector<Tensor>> range_of(T start, T limit, T delta) {
  return evaluate(
      range_, {Tensor::of<T>({}, {start}), Tensor::of<T>({}, {limit}), Tensor::of<T>({}, {delta})});
}

TEST(Range, CrossesAllIntegersInHugeSteps) {
  expect_output(range_of(kLowest, kHighest, kHighest), ints({kLowest, -1, kHighest - 1}));
  expect_output(range_of(kHighest, kLowest, kLowest), ints({kHighest, -1}));
}

TEST(Range, IsEmptyWhereDeltaPointsAway) {
  expect_output(range_of<int64_t>(3, 1, 1), ints({}));
  expect_output(range_of<float>(1, 3, -1), counting({0}));
  expect_output(range_of<int16_t>(4, 4, 1), Tensor({DType::kI16, {0}}));
}

TEST(Range, RoundsUpTheNumberOfElements) {
  expect_output(range_of<float>(0, 1, 0.4f), floats({3}, {0, 0.4f, 0.8f}));
  expect_output(range_of<int32_t>(5, 0, -2), Tensor::of<int32_t>({3}, {5, 3, 1}));
}

TEST(Range, RefusesWhatHasNoLength) {
  const float inf = std::numeric_limits<float>::infinity();
  expect_refused(range_of<int64_t>(0, 4, 0), "delta is 0");
  expect_refused(range_of<float>(0, std::nanf(""), 1), "no number of elements");
  expect_refused(range_of<float>(0, inf, 1), "no number of elements");
  expect_refused(range_of<float>(0, 1e30f, 1e-30f), "no number of elements");
  expect_refused(range_of<int64_t>(0, int64_t{1} << 62, 1), "no number of elements");
  expect_refused(range_of<int64_t>(kLowest, kHighest, 1), "no number of elements");
  expect_refused(range_of<int64_t>(0, int64_t{1} << 40, 1), "larger than the limit");
  expect_refused(range_of<uint8_t>(0, 4, 1), "type u8");
  expect_refused(evaluate(range_, {ints({0, 1}), ints({1}), ints({1})}), "one element");
}

TEST(ConstantOfShape, IsZeroWithoutAValue) {
  expect_output(evaluate(constant_of_shape, {ints({2})}), floats({2}, {0, 0}));
  expect_output(evaluate(constant_of_shape, {ints({})}, {{"value", Tensor::of<int8_t>({1}, {7})}}),
                Tensor::of<int8_t>({}, {7}));
}

TEST(ConstantOfShape, RefusesShapesThatDoNotFit) {
  const int64_t large = int64_t{1} << 31;
  expect_refused(evaluate(constant_of_shape, {ints({-4})}), "dimension -4");
  expect_refused(evaluate(constant_of_shape, {ints({large, large, 4})}), "larger than the limit");
  expect_refused(evaluate(constant_of_shape, {ints({1, 1, 1, 1, 1, 1, 1, 1, 1})}), "more than 8");
  expect_refused(evaluate(constant_of_shape, {ints({2})}, {{"value", counting({2})}}),
                 "one element");
}

TEST(OneHot, CountsNegativeIndicesFromTheEnd) {
  expect_output(evaluate(one_hot, {ints({-1, 0, 3, kLowest}), ints({3}), floats({2}, {0, 1})}),
                floats({4, 3}, {0, 0, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0}));
}

TEST(OneHot, TakesFloatsAsIndicesAndDepth) {
  expect_output(evaluate(one_hot, {floats({2}, {1.9f, 1e30f}), floats({}, {2}), ints({5, 6})}),
                Tensor::of<int64_t>({2, 2}, {5, 6, 5, 5}));
}

TEST(OneHot, RefusesDepthsAndValuesThatDoNotFit) {
  const Tensor values = floats({2}, {0, 1});
  expect_refused(evaluate(one_hot, {ints({0}), ints({-3}), values}), "depth -3");
  expect_refused(evaluate(one_hot, {ints({0}), ints({int64_t{1} << 40}), values}), "limit");
  expect_refused(evaluate(one_hot, {ints({0}), floats({}, {1e30f}), values}), "out of range");
  expect_refused(evaluate(one_hot, {ints({0}), ints({3}), floats({3}, {0, 1, 2})}), "[3]");
  expect_refused(evaluate(one_hot, {ints({0}), ints({3}), values}, {{"axis", int64_t{2}}}),
                 "axis 2");
}

TEST(Shape, StopsAtTheEndsOfTheShape) {
  const Tensor x = counting({2, 3, 4});
  expect_output(evaluate(shape_, {x}, {{"start", int64_t{-9}}, {"end", int64_t{9}}}),
                ints({2, 3, 4}));
  expect_output(evaluate(shape_, {x}, {{"start", int64_t{2}}, {"end", int64_t{1}}}), ints({}));
  expect_output(evaluate(shape_, {x}, {{"start", kLowest}, {"end", int64_t{-1}}}), ints({2, 3}));
}

TEST(Size, OfAScalarIsOne) {
  expect_output(evaluate(size_, {counting({})}), Tensor::of<int64_t>({}, {1}));
}

}  // namespace
}  // namespace shoal::ops
