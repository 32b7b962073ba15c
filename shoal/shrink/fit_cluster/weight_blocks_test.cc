#include <gtest/gtest.h>

#include "shoal/base/math/random.h"
#include "shoal/model/ops/ops.h"
#include "shoal/shrink/fit_cluster/other_networks.h"
#include "shoal/train/step/optimizer/regularizer.h"

namespace shoal::fit_cluster {
namespace {

// Two layers, the second of which is too small for a message.
Graph two_layers() {
  Graph graph;
  Tensor large({DType::kF32, {64, 64}}), small({DType::kF32, {64, 8}});
  fill_normal(large.data<float>(), RandomStream(1, 1), 1);
  fill_normal(small.data<float>(), RandomStream(1, 2), 1);
  const ValueId x = graph.add_input("x", {DType::kF32, {1, 64}});
  const ValueId y = *graph.add(ops::mat_mul, {x, graph.add_constant("a[1]*", large)});
  graph.mark_output(*graph.add(ops::mat_mul, {y, graph.add_constant("b", small)}));
  return graph;
}

TEST(Blocks, AreOfLayersThatAreWorthAMessage) {
  EXPECT_EQ(weights_for_blocks(two_layers()), std::vector<std::string>{"a[1]*"});
}

TEST(Blocks, HaveAPenaltyOfTheirOwnWeightOnly) {
  const auto penalty = train::parse_regularizer(penalty_for_blocks("a[1]*", 4));
  ASSERT_TRUE(penalty.ok()) << penalty.status().message();
  EXPECT_EQ(penalty->clusters, 4);
  EXPECT_TRUE(penalty->applies("a[1]*"));
  EXPECT_FALSE(penalty->applies("a1x"));
}

TEST(Blocks, AreNearlyAllThatIsLeftOfAWeight) {
  const Graph graph = two_layers();
  const auto result = in_blocks(graph, weights_for_blocks(graph), 4, 1 - 1e-9);
  ASSERT_TRUE(result.ok()) << result.status().message();
  const Tensor& weight = *(*result)[result->nodes()[0].inputs[1]].constant;
  size_t inside = 0, outside = 0;
  for (size_t i = 0; i < weight.data<float>().size(); ++i) {
    if (weight.data<float>()[i] == 0) continue;
    ++(i / 64 / 16 == i % 64 / 16 ? inside : outside);
  }
  EXPECT_EQ(inside, 4u * 16 * 16);
  EXPECT_LE(outside, 16u);  // the largest group stays
  EXPECT_EQ(in_blocks(graph, {}, 4, 0.5)->nodes().size(), graph.nodes().size());
}

}  // namespace
}  // namespace shoal::fit_cluster
