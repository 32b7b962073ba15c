#include <gtest/gtest.h>

#include "shoal/model/ops/ops.h"
#include "shoal/model/ops/ops_testing.h"

namespace shoal::ops {
namespace {

TEST(Col2Im, PutsBlocksSideBySide) {
  // Two blocks of 2 x 1; a row of x is a place in the block.
  expect_output(evaluate(col2_im, {counting({1, 2, 2}), ints({2, 2}), ints({2, 1})}),
                floats({1, 1, 2, 2}, {0, 1, 2, 3}));
}

TEST(Col2Im, AddsUpWhereBlocksOverlap) {
  expect_output(evaluate(col2_im, {counting({1, 2, 3}), ints({4}), ints({2})}),
                floats({1, 1, 4}, {0, 4, 6, 5}));
}

TEST(Col2Im, DropsWhatFellOnPadding) {
  expect_output(evaluate(col2_im, {counting({1, 3, 1}), ints({1}), ints({3})},
                         {{"pads", std::vector<int64_t>{1, 1}}}),
                floats({1, 1, 1}, {1}));
}

TEST(Col2Im, StepsAndSpreads) {
  expect_output(
      evaluate(col2_im, {counting({1, 4, 2}), ints({5}), ints({2})},
               {{"strides", std::vector<int64_t>{2}}, {"dilations", std::vector<int64_t>{2}}}),
      floats({1, 2, 5}, {0, 0, 3, 0, 3, 4, 0, 11, 0, 7}));
}

// x has no elements, so that nothing but the table would be large.
TEST(Col2Im, HasNoGradientThatNeedsATableTooLarge) {
  constexpr int64_t kMany = 1 << 22;
  Graph graph;
  const ValueId x = graph.add_input("x", {DType::kF32, {1, 0, kMany}});
  const ValueId image = graph.add_constant("image", ints({2 * kMany}));
  const ValueId block = graph.add_constant("block", ints({kMany + 1}));
  const auto y = graph.add(col2_im, {x, image, block});
  ASSERT_TRUE(y.ok()) << y.status().message();
  const std::vector<ValueId> dy{graph.add_input("dy", graph[*y].type)};
  const Node node = graph.nodes()[0];
  EXPECT_FALSE(col2_im.gradient(node, dy, graph).ok());
}

TEST(Col2Im, RefusesWhatDoesNotFit) {
  const Tensor x = counting({1, 4, 2});
  expect_refused(evaluate(col2_im, {x, ints({3}), ints({3})}),
                 "4 rows are not those of blocks [3]");
  expect_refused(evaluate(col2_im, {x, ints({9}), ints({2})}),
                 "8 blocks fit the image, there are 2");
  expect_refused(evaluate(col2_im, {x, ints({1}), ints({2})}), "larger than the padded input");
  expect_refused(evaluate(col2_im, {x, ints({3, 1}), ints({2})}), "different ranks");
  expect_refused(evaluate(col2_im, {x, ints({-3}), ints({2})}), "");
  expect_refused(evaluate(col2_im, {x, ints({3}), ints({0})}), "empty");
  expect_refused(evaluate(col2_im, {x, ints({}), ints({})}), "1 to 3 axes");
  expect_refused(evaluate(col2_im, {x, ints({1LL << 62, 1LL << 62}), ints({1, 1})}), "");
}

}  // namespace
}  // namespace shoal::ops
