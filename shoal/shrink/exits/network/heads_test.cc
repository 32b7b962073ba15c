#include "shoal/shrink/exits/network/heads.h"

#include <gtest/gtest.h>

#include "shoal/shrink/exits/network/exits_testing.h"

namespace shoal::exits {
namespace {

using testing::RandomNetwork;

Result<WithHeads> heads_at(const Graph& network, size_t exits, const HeadOptions& options) {
  SHOAL_ASSIGN(const std::vector<ValueId> places, even_places(network, exits));
  return add_heads(network, places, options);
}

std::vector<Tensor> run(const Graph& graph, const Tensor& images) {
  std::vector<Tensor> outputs(graph.outputs().size());
  const auto executable = make_reference_device()->compile(graph);
  SHOAL_CHECK(executable.ok());
  SHOAL_CHECK((*executable)->run(std::span(&images, 1), outputs, {}).ok());
  return outputs;
}

TEST(AddHeads, LeaveTheClassifierAsItWas) {
  for (uint64_t seed = 1; seed < 6; ++seed) {
    const RandomNetwork network(seed, 2);
    const auto result = heads_at(network.graph(), 1, {});
    ASSERT_TRUE(result.ok()) << result.status().message();
    const Tensor images = testing::random_images({DType::kF32, {1, 3, 16, 16}}, 2, seed);
    const auto before = run(network.graph(), images), after = run(result->network.graph, images);
    EXPECT_TRUE(testing::same_bytes(before[0], after[0]));
    EXPECT_EQ(after[1].type(), after[0].type());
  }
}

TEST(AddHeads, NameTheirOutputsAndWeights) {
  const RandomNetwork network(3, 2);
  const auto result = heads_at(network.graph(), 2, {});
  ASSERT_TRUE(result.ok()) << result.status().message();
  const Graph& graph = result->network.graph;
  ASSERT_EQ(graph.outputs().size(), 3u);
  EXPECT_EQ(graph[graph.outputs()[1]].name, "exit1");
  EXPECT_EQ(result->network.exits[1].scores, "exit2");
  EXPECT_EQ(result->network.outputs.size(), 3u);
  for (const auto& names : result->weights) {
    for (const std::string& name : names) EXPECT_TRUE(name.starts_with("exit")) << name;
  }
  EXPECT_TRUE(verify(graph).ok());
}

// How often an operator occurs.
size_t count(const Graph& graph, const Operator& op) {
  return static_cast<size_t>(
      std::ranges::count_if(graph.nodes(), [&](const Node& node) { return node.op == &op; }));
}

TEST(AddHeads, AggregateFeaturesOfTheExitBefore) {
  const RandomNetwork network(3, 2);
  const auto plain = heads_at(network.graph(), 2, {.aggregate = false});
  const auto aggregated = heads_at(network.graph(), 2, {.aggregate = true});
  ASSERT_TRUE(plain.ok() && aggregated.ok());
  EXPECT_EQ(count(aggregated->network.graph, ops::concat),
            count(plain->network.graph, ops::concat) + 1);
  EXPECT_EQ(aggregated->weights[0], plain->weights[0]);  // the first has nothing before it
}

TEST(AddHeads, PoolFeaturesOfOtherSizes) {
  // 7 x 7 to 3 x 3, and 7 x 7 to 2 x 2: windows that overlap or not, but leave no pixel out.
  for (int64_t stride : {2, 3}) {
    Graph graph;
    ValueId x = graph.add_input("x", {DType::kF32, {2, 2, 7, 7}});
    const auto conv = [&](ValueId in, int64_t step, const std::string& name) {
      const ValueId w = graph.add_constant(name + ".w", Tensor({DType::kF32, {2, 2, 2, 2}}));
      return *graph.add(ops::conv, {in, w}, {{"strides", std::vector<int64_t>{step, step}}}, name);
    };
    const ValueId low = *graph.add(ops::relu, {x}, {}, "low");
    const ValueId high = conv(low, stride, "high");
    const ValueId mean = *graph.add(ops::global_average_pool, {high});
    graph.mark_output(*graph.add(ops::flatten, {mean}));
    const auto result = add_heads(graph, std::vector<ValueId>{low, high}, {});
    ASSERT_TRUE(result.ok()) << result.status().message();
    EXPECT_EQ(count(result->network.graph, ops::max_pool), 1u);
  }
}

TEST(AddHeads, TakeFeaturesWithoutImages) {
  Graph graph;
  const ValueId x = graph.add_input("x", {DType::kF32, {2, 6}});
  const auto layer = [&](ValueId in, int64_t outputs, const std::string& name) {
    Tensor weight({DType::kF32, {outputs, graph[in].type.shape[1]}});
    const ValueId w = graph.add_constant(name + ".w", weight);
    return *graph.add(ops::gemm, {in, w}, {{"transB", int64_t{1}}}, name);
  };
  const ValueId value = *graph.add(ops::relu, {layer(x, 5, "fc1")}, {}, "one");
  const ValueId two = *graph.add(ops::relu, {layer(value, 4, "fc2")}, {}, "two");
  graph.mark_output(layer(two, 3, "fc3"));
  const auto result = add_heads(graph, std::vector<ValueId>{value, two}, {});
  ASSERT_TRUE(result.ok()) << result.status().message();
  EXPECT_EQ(result->network.graph[result->network.graph.outputs()[2]].type.shape, (Shape{2, 3}));
}

TEST(AddHeads, BeginWithWeightsOfTheSeed) {
  const RandomNetwork network(3, 2);
  const Tensor images = testing::random_images({DType::kF32, {1, 3, 16, 16}}, 2, 1);
  const auto scores = [&](uint64_t seed) {
    const auto result = heads_at(network.graph(), 1, {.seed = seed});
    SHOAL_CHECK(result.ok());
    return run(result->network.graph, images)[1];
  };
  EXPECT_TRUE(testing::same_bytes(scores(1), scores(1)));
  EXPECT_FALSE(testing::same_bytes(scores(1), scores(2)));
}

}  // namespace
}  // namespace shoal::exits
