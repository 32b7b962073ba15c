#include "shoal/model/ops/ops.h"
#include "shoal/model/ops/ops_testing.h"

namespace shoal::ops {
namespace {

TEST(Reshape, CopiesDimensionsMarkedZeroAndInfersTheOneMarkedMinusOne) {
  expect_output(evaluate(reshape, {counting({2, 3, 4}), ints({0, -1})}), counting({2, 12}));
}

TEST(Reshape, MakesAScalarOfAnEmptyShape) {
  expect_output(evaluate(reshape, {counting({1, 1}), ints({})}), counting({}));
}

TEST(Reshape, TakesZeroAsASizeWhereAsked) {
  expect_output(evaluate(reshape, {counting({0, 3}), ints({3, 0})}, {{"allowzero", int64_t{1}}}),
                counting({3, 0}));
}

TEST(Reshape, RefusesShapesOfAnotherCount) {
  const Tensor x = counting({2, 3});
  expect_refused(evaluate(reshape, {x, ints({4, 4})}), "cannot give [2,3] the shape [4,4]");
  expect_refused(evaluate(reshape, {x, ints({-1, 4})}), "cannot give");
  expect_refused(evaluate(reshape, {x, ints({int64_t{1} << 62, 4, 6})}), "cannot give");
  expect_refused(evaluate(reshape, {counting({0, 3}), ints({0, -1})}), "cannot give");
}

TEST(Reshape, RefusesShapesThatMakeNoSense) {
  const Tensor x = counting({2, 3});
  expect_refused(evaluate(reshape, {x, ints({-1, -1})}), "more than one");
  expect_refused(evaluate(reshape, {x, ints({-2, 3})}), "negative");
  expect_refused(evaluate(reshape, {x, ints({2, 3, 0})}), "does not have");
  expect_refused(evaluate(reshape, {x, ints({1, 1, 1, 1, 1, 1, 1, 2, 3})}), "more than 8");
  expect_refused(evaluate(reshape, {x, floats({2}, {2, 3})}), "type f32");
}

TEST(Flatten, JoinsNothingIntoOne) {
  const Tensor x = counting({2, 3});
  expect_output(evaluate(flatten, {x}, {{"axis", int64_t{0}}}), counting({1, 6}));
  expect_output(evaluate(flatten, {x}, {{"axis", int64_t{2}}}), counting({6, 1}));
  expect_output(evaluate(flatten, {counting({})}, {{"axis", int64_t{0}}}), counting({1, 1}));
}

TEST(Flatten, RefusesAxisBeyondRank) {
  const Tensor x = counting({2, 3});
  expect_refused(evaluate(flatten, {x}, {{"axis", int64_t{3}}}), "axis 3");
  expect_refused(evaluate(flatten, {x}, {{"axis", int64_t{-3}}}), "axis -3");
}

TEST(Squeeze, RemovesEveryOneWhereNoAxesAreNamed) {
  expect_output(evaluate(squeeze, {counting({1, 2, 1})}), counting({2}));
}

TEST(Squeeze, RefusesAxesThatAreNotOne) {
  const Tensor x = counting({1, 2});
  expect_refused(evaluate(squeeze, {x, ints({1})}), "is not 1");
  expect_refused(evaluate(squeeze, {x, ints({0, -2})}), "twice");
  expect_refused(evaluate(squeeze, {x, ints({2})}), "axis 2");
}

TEST(Squeeze, IsNotCutIntoTilesThatWouldLoseAnotherAxis) {
  Node node{&squeeze, {ValueId{0}}, {ValueId{1}}, {}, {}};
  const std::vector<Operand> inputs = {{true, {DType::kF32, {1, 4, 5}}, nullptr}};
  EXPECT_TRUE(squeeze.split(node, inputs, {{0, 0}, {2, 5}}).has_value());
  EXPECT_FALSE(squeeze.split(node, inputs, {{0, 0}, {1, 5}}).has_value());
}

TEST(Unsqueeze, CountsAxesInTheResult) {
  expect_output(evaluate(unsqueeze, {counting({2, 3}), ints({-1, 0})}), counting({1, 2, 3, 1}));
  expect_output(evaluate(unsqueeze, {counting({2}), Tensor::of<int64_t>({}, {1})}),
                counting({2, 1}));
}

TEST(Unsqueeze, RefusesAxesThatAreNotThere) {
  const Tensor x = counting({2, 3});
  expect_refused(evaluate(unsqueeze, {x, ints({3})}), "axis 3");
  expect_refused(evaluate(unsqueeze, {x, ints({0, 0})}), "twice");
  expect_refused(evaluate(unsqueeze, {x, ints({0, 1, 2, 3, 4, 5, 6})}), "more than 8");
  expect_refused(evaluate(unsqueeze, {x, Tensor::of<int64_t>({1, 1}, {0})}), "takes a list");
}

TEST(Transpose, RefusesWhatIsNoPermutation) {
  const Tensor x = counting({2, 3});
  using List = std::vector<int64_t>;
  expect_refused(evaluate(transpose, {x}, {{"perm", List{0, 0}}}), "twice");
  expect_refused(evaluate(transpose, {x}, {{"perm", List{0}}}), "every axis");
  expect_refused(evaluate(transpose, {x}, {{"perm", List{0, 2}}}), "axis 2");
  expect_refused(evaluate(transpose, {x}, {{"perm", List{0, -1}}}), "every axis");
}

TEST(Transpose, ReversesTheAxesByDefault) {
  expect_output(evaluate(transpose, {counting({2, 3})}), floats({3, 2}, {0, 3, 1, 4, 2, 5}));
}

}  // namespace
}  // namespace shoal::ops
