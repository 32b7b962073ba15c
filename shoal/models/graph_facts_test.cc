#include "shoal/models/graph_facts.h"

#include <gtest/gtest.h>

#include "shoal/models/model.h"

namespace shoal {
namespace {

TEST(GraphFacts, AddUpToTheWholeGraph) {
  const LoadedGraph loaded = *open_model("zoo:lenet5")->graph();
  const Graph& graph = loaded.graph;
  const auto rows = node_rows(graph);
  ASSERT_EQ(rows.size(), graph.nodes().size());
  int64_t weights = 0;
  for (const Node& node : graph.nodes()) weights += parameters(graph, node);
  EXPECT_EQ(weights, parameters(graph));
  EXPECT_GT(total_macs(graph), 0);
  for (const Facts& row : rows) EXPECT_NE(row[4].cell, "0") << "nothing is an empty cell";
}

TEST(GraphFacts, NameInputsOutputsAndMemory) {
  const LoadedGraph loaded = *open_model("zoo:lenet5")->graph();
  const ActivationBytes memory = activation_bytes(loaded.graph);
  EXPECT_GE(memory.peak, memory.lower_bound);
  EXPECT_GT(memory.lower_bound, 0);
  const Graph& graph = loaded.graph;
  const std::string json = to_json(graph, memory).dump();
  const std::string input = graph[graph.inputs()[0]].name;
  EXPECT_NE(json.find(R"("inputs":[{"name":")" + input), json.npos) << json;
  EXPECT_NE(json.find(R"("operators":{)"), json.npos) << json;
  EXPECT_EQ(json.find(R"("memory")"), json.npos) << "for people only";
  const std::string text = values_text(graph, memory);
  EXPECT_TRUE(text.starts_with("input   " + input + " f32[")) << text;
  EXPECT_NE(text.find("\noutput  "), text.npos) << text;
  EXPECT_TRUE(text.ends_with(" at least\n")) << text;
}

}  // namespace
}  // namespace shoal
