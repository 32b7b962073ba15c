#include "shoal/shrink/compress/units/residual_blocks.h"

#include <gtest/gtest.h>

#include "shoal/model/ops/ops.h"

namespace shoal::compress {
namespace {

TEST(ResidualBlocks, AreWhereNobodyElseReads) {
  Graph graph;
  const ValueId x = graph.add_input("x", {DType::kF32, {2, 3}});
  const ValueId w = graph.add_constant("w", Tensor({DType::kF32, {3, 3}}));
  const ValueId f = *graph.add(ops::mat_mul, {x, w});
  const ValueId y = *graph.add(ops::add, {f, x});
  graph.mark_output(y);
  ASSERT_EQ(residual_blocks(graph).size(), 1u);
  EXPECT_EQ(residual_blocks(graph)[0].input, x);
  EXPECT_EQ(residual_blocks(graph)[0].weights, "w");
  Graph read = graph;
  read.mark_output(f);
  EXPECT_TRUE(residual_blocks(read).empty());
  Graph plain;  // no product, and a sum of two inputs
  const ValueId a = plain.add_input("a", {DType::kF32, {2}}),
                b = plain.add_input("b", {DType::kF32, {2}});
  const ValueId relu = *plain.add(ops::relu, {a});
  const ValueId sum = *plain.add(ops::add, {relu, a});
  plain.mark_output(*plain.add(ops::add, {sum, b}));
  EXPECT_TRUE(residual_blocks(plain).empty());
}

// The inner block is a part of the outer one.
TEST(ResidualBlocks, MayBeNested) {
  Graph graph;
  const ValueId x = graph.add_input("x", {DType::kF32, {2, 3}});
  Tensor weight({DType::kF32, {3, 3}});
  weight.data<float>()[1] = 2;
  const ValueId w = graph.add_constant("w", weight);
  const ValueId outer = *graph.add(ops::mat_mul, {x, w});
  const ValueId inner = *graph.add(ops::mat_mul, {outer, w});
  const ValueId sum = *graph.add(ops::add, {outer, inner});
  graph.mark_output(*graph.add(ops::add, {x, sum}));
  const auto blocks = residual_blocks(graph);
  ASSERT_EQ(blocks.size(), 2u);
  for (const std::vector<size_t>& numbers :
       {std::vector<size_t>{1}, std::vector<size_t>{0, 1}, std::vector<size_t>{1, 0}}) {
    const auto smaller = without_blocks(graph, blocks, numbers);
    ASSERT_TRUE(smaller.ok());
    ASSERT_EQ(smaller->nodes().size(), 1u);  // the output keeps its name
    EXPECT_EQ(smaller->nodes()[0].op, &ops::identity);
  }
}

}  // namespace
}  // namespace shoal::compress
