#include <cmath>
#include <limits>

#include "shoal/model/ops/ops.h"
#include "shoal/model/ops/ops_testing.h"

namespace shoal::ops {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

TEST(Round, SendsHalvesToTheEvenNeighbour) {
  expect_output(evaluate(round, {floats({5}, {0.5f, 1.5f, 2.5f, -1.5f, -4.5f})}),
                floats({5}, {0, 2, 2, -2, -4}));
}

TEST(Abs, LeavesTheSmallestIntegerWhereItIs) {
  const int32_t lowest = std::numeric_limits<int32_t>::min();
  expect_output(evaluate(abs, {Tensor::of<int32_t>({3}, {lowest, -5, 5})}),
                Tensor::of<int32_t>({3}, {lowest, 5, 5}));
}

TEST(Abs, TakesTheSignOffZero) {
  auto y = evaluate(abs, {floats({1}, {-0.0f})});
  ASSERT_TRUE(y.ok());
  EXPECT_FALSE(std::signbit((*y)[0].data<float>()[0]));
}

TEST(Neg, LeavesTheSmallestIntegerWhereItIs) {
  const int64_t lowest = std::numeric_limits<int64_t>::min();
  expect_output(evaluate(neg, {ints({lowest, 7})}), ints({lowest, -7}));
}

TEST(Neg, RefusesUnsignedElements) {
  expect_refused(evaluate(neg, {Tensor::of<uint8_t>({1}, {1})}), "type u8");
}

TEST(Sign, KnowsThreeAnswersAndKeepsNaN) {
  expect_output(evaluate(sign, {floats({3}, {-3, 0, kInfinity})}), floats({3}, {-1, 0, 1}));
  expect_output(evaluate(sign, {Tensor::of<uint8_t>({2}, {0, 200})}),
                Tensor::of<uint8_t>({2}, {0, 1}));
  EXPECT_TRUE(std::isnan((*evaluate(sign, {floats({1}, {kNaN})}))[0].data<float>()[0]));
}

TEST(IsInf, LooksOnlyAtTheSideAskedFor) {
  const Tensor x = floats({4}, {-kInfinity, kInfinity, kNaN, 1});
  expect_output(evaluate(is_inf, {x}), Tensor::of<bool>({4}, {true, true, false, false}));
  expect_output(evaluate(is_inf, {x}, {{"detect_negative", int64_t{0}}}),
                Tensor::of<bool>({4}, {false, true, false, false}));
  expect_output(evaluate(is_inf, {x}, {{"detect_positive", int64_t{0}}}),
                Tensor::of<bool>({4}, {true, false, false, false}));
}

TEST(Not, RefusesNumbers) { expect_refused(evaluate(not_, {floats({1}, {1})}), "type f32"); }

TEST(Unary, ComputesHalvesInFloat) {
  const Half x(0.5f);
  expect_output(evaluate(exp, {Tensor::of<Half>({1}, {x})}),
                Tensor::of<Half>({1}, {Half(std::exp(0.5f))}));
}

}  // namespace
}  // namespace shoal::ops
