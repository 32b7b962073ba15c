#include "shoal/shrink/exits/network/stages.h"

#include <gtest/gtest.h>

#include <set>

#include "shoal/shrink/exits/network/exits_testing.h"

namespace shoal::exits {
namespace {

TEST(Stages, ComputeEveryNodeOnce) {
  for (uint64_t seed = 1; seed < 30; ++seed) {
    const auto network = testing::random_multi_exit(seed)(2);
    ASSERT_TRUE(network.ok()) << network.status().message();
    const auto stages = stages_of(*network);
    ASSERT_TRUE(stages.ok()) << stages.status().message();
    ASSERT_EQ(stages->size(), network->exits.size() + 1);
    std::multiset<std::string> made, wanted;
    int64_t staged = 0, whole = 0;
    for (const Stage& stage : *stages) {
      for (const Node& node : stage.graph.nodes()) {
        for (ValueId id : node.outputs) made.insert(stage.graph[id].name);
      }
      staged += stage.macs;
    }
    for (const Node& node : network->graph.nodes()) {
      for (ValueId id : node.outputs) wanted.insert(network->graph[id].name);
      whole += macs(network->graph, node);
    }
    EXPECT_EQ(made, wanted) << seed;
    EXPECT_EQ(staged, whole) << seed;
  }
}

TEST(Stages, ReadOnlyWhatStagesBeforeGive) {
  for (uint64_t seed = 1; seed < 30; ++seed) {
    const auto network = testing::random_multi_exit(seed)(2);
    ASSERT_TRUE(network.ok());
    const auto stages = stages_of(*network);
    ASSERT_TRUE(stages.ok());
    std::set<std::string> there{"x"};
    for (size_t s = 0; s < stages->size(); ++s) {
      for (const std::string& name : (*stages)[s].reads) EXPECT_TRUE(there.contains(name)) << name;
      there.insert((*stages)[s].gives.begin(), (*stages)[s].gives.end());
      const bool last = s + 1 == stages->size();
      EXPECT_EQ((*stages)[s].gives[0], last ? network->outputs[0] : network->exits[s].scores);
    }
  }
}

TEST(Stages, RefuseAnExitThatComputesNothing) {
  // The exits in the wrong order: what the second needs, the first has computed.
  Graph graph;
  const ValueId x = graph.add_input("x", {DType::kF32, {2, 3}});
  const ValueId a = *graph.add(ops::relu, {x}, {}, "a");
  const ValueId b = *graph.add(ops::relu, {a}, {}, "b");
  graph.mark_output(b);
  graph.mark_output(b);
  graph.mark_output(a);
  const MultiExit twisted{.graph = graph, .exits = {{}, {}}, .outputs = {}};
  EXPECT_EQ(stages_of(twisted).status().code(), Code::kInvalidArgument);
}

}  // namespace
}  // namespace shoal::exits
