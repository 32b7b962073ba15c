// Element-wise operators with inputs of several kinds, or any number of them.
#include <cmath>
#include <limits>

#include "shoal/model/ops/ops.h"
#include "shoal/model/ops/ops_testing.h"

namespace shoal::ops {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();

TEST(Variadic, StretchesEveryInput) {
  expect_output(
      evaluate(sum, {floats({2, 1}, {10, 20}), floats({3}, {1, 2, 3}), floats({}, {100})}),
      floats({2, 3}, {111, 112, 113, 121, 122, 123}));
  expect_output(evaluate(mean, {floats({2}, {1, 3}), floats({}, {5})}), floats({2}, {3, 4}));
}

TEST(Variadic, TakesMoreInputsThanAMaskHasBits) {
  expect_output(evaluate(sum, std::vector(100, floats({1}, {1}))), floats({1}, {100}));
}

TEST(Variadic, RefusesAHoleBetweenItsInputs) {
  expect_refused(evaluate(max, {counting({1}), Tensor(), counting({1})}), "input 1 is missing");
}

TEST(Max, LetsNaNWinWhereverItStands) {
  for (const Operator* op : {&max, &min}) {
    for (const auto& [a, b] : {std::pair{kNaN, 1.0f}, std::pair{1.0f, kNaN}}) {
      auto y = evaluate(*op, {floats({1}, {a}), floats({1}, {b})});
      ASSERT_TRUE(y.ok());
      EXPECT_TRUE(std::isnan((*y)[0].data<float>()[0])) << op->name;
    }
  }
}

TEST(Max, OfNothingIsNothing) {
  expect_output(evaluate(max, {counting({0, 3}), counting({3})}), counting({0, 3}));
}

TEST(Clip, DoesNotBindWhereABoundIsLeftOut) {
  const Tensor x = floats({3}, {-kInfinity, 1, kInfinity});
  expect_output(evaluate(clip, {x}), x);
  expect_output(evaluate(clip, {x, Tensor(), floats({}, {0})}), floats({3}, {-kInfinity, 0, 0}));
}

TEST(Clip, GivesTheUpperBoundWhereBoundsCross) {
  expect_output(evaluate(clip, {ints({-9, 0, 9}), Tensor::of<int64_t>({}, {5}),
                                Tensor::of<int64_t>({}, {-5})}),
                ints({-5, -5, -5}));
}

TEST(Clip, RefusesBoundsThatAreNotOneElementOfTheType) {
  expect_refused(evaluate(clip, {counting({2}), counting({2})}), "takes one element");
  expect_refused(evaluate(clip, {counting({2}), Tensor::of<int64_t>({}, {5})}),
                 "different element types");
}

TEST(Where, StretchesItsThreeInputs) {
  expect_output(evaluate(where, {Tensor::of<bool>({2, 1}, {true, false}), floats({2}, {1, 2}),
                                 floats({}, {9})}),
                floats({2, 2}, {1, 2, 9, 9}));
}

TEST(Where, RefusesAConditionThatIsNotBool) {
  expect_refused(evaluate(where, {counting({1}), counting({1}), counting({1})}), "type f32");
}

}  // namespace
}  // namespace shoal::ops
