#include "shoal/model/tensor/compare.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace shoal {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInf = std::numeric_limits<float>::infinity();

Tensor floats(std::initializer_list<float> elements) {
  return Tensor::of<float>({static_cast<int64_t>(elements.size())}, elements);
}

TEST(RelativeError, IsTheLargestDifferenceByTheLargestElement) {
  EXPECT_DOUBLE_EQ(relative_error(floats({1, -7, 3}), floats({1, -8, 4})), 1.0 / 8);
  EXPECT_EQ(relative_error(floats({1, 2}), floats({1, 2})), 0);
  EXPECT_EQ(relative_error(floats({0, 0}), floats({0, 0})), 0);
  EXPECT_EQ(relative_error(floats({}), floats({})), 0);
}

TEST(RelativeError, IsInfiniteWhereNothingIsExpected) {
  EXPECT_EQ(relative_error(floats({0, 1e-9f}), floats({0, 0})), kInf);
}

TEST(RelativeError, DoesNotOverlookNan) {
  EXPECT_EQ(relative_error(floats({1, kNan}), floats({1, 2})), kInf);
  EXPECT_EQ(relative_error(floats({1, 2}), floats({1, kNan})), kInf);
  EXPECT_EQ(relative_error(floats({kNan, 2}), floats({kNan, 2})), 0);
}

TEST(RelativeError, KnowsInfinitiesFromEachOther) {
  EXPECT_EQ(relative_error(floats({kInf, 1}), floats({kInf, 1})), 0);
  EXPECT_EQ(relative_error(floats({kInf, 1}), floats({-kInf, 1})), kInf);
  EXPECT_EQ(relative_error(floats({kInf, 1}), floats({2, 1})), kInf);
  EXPECT_EQ(relative_error(floats({kInf, 1}), floats({kInf, 2})), 0.5) << "infinity is no scale";
}

TEST(RelativeError, IsOfOneTypeAndShape) {
  EXPECT_EQ(relative_error(floats({1}), Tensor::of<double>({1}, {1.0})), kInf);
  EXPECT_EQ(relative_error(floats({1, 2}), floats({1, 2}).reshaped({2, 1})), kInf);
  EXPECT_EQ(relative_error(Tensor(), floats({1})), kInf);
}

TEST(RelativeError, TakesEveryFloatingType) {
  EXPECT_EQ(relative_error(Tensor::of<double>({1}, {3.0}), Tensor::of<double>({1}, {4.0})), 0.25);
}

TEST(RelativeError, OfIntegersIsAllOrNothing) {
  const Tensor one = Tensor::of<int64_t>({2}, {1, 1'000'000});
  EXPECT_EQ(relative_error(one, one.clone()), 0);
  EXPECT_EQ(relative_error(one, Tensor::of<int64_t>({2}, {1, 1'000'001})), kInf);
}

TEST(RelativeError, OfListsIsTheLargest) {
  const std::vector<Tensor> want = {floats({1}), floats({2})};
  EXPECT_EQ(relative_error(std::vector{floats({1}), floats({3})}, want), 0.5);
  EXPECT_EQ(relative_error(std::vector{floats({1})}, want), kInf);
}

}  // namespace
}  // namespace shoal
