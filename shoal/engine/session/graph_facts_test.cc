#include "shoal/engine/session/graph_facts.h"

#include <gtest/gtest.h>

#include "shoal/engine/session/model.h"

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

TEST(GraphFacts, EndWithSums) {
  const LoadedGraph loaded = *open_model("zoo:lenet5")->graph();
  const auto lines = table_of(loaded.graph, ActivationBytes{.peak = 2'500'000}).lines();
  const size_t nodes = loaded.graph.nodes().size();
  ASSERT_EQ(lines.size(), nodes + 3);
  EXPECT_EQ(lines[nodes + 1].find_first_not_of('-'), std::string::npos);
  const std::string& last = lines.back();
  EXPECT_TRUE(last.starts_with(std::to_string(nodes) + " nodes ")) << last;
  EXPECT_NE(last.find(with_commas(total_macs(loaded.graph))), last.npos) << last;
  EXPECT_TRUE(last.ends_with(in_bytes(2'500'000))) << last;
}

TEST(GraphFacts, SayWhatEachPassDid) {
  const auto lines =
      table_of(std::vector<passes::Report>{{.pass = "fold", .nodes_before = 9, .nodes_after = 7},
                                           {.pass = "fuse",
                                            .nodes_before = 7,
                                            .nodes_after = 7,
                                            .changed = true,
                                            .seconds = 0.001},
                                           {.pass = "drop", .nodes_before = 7, .nodes_after = 7}})
          .lines();
  ASSERT_EQ(lines.size(), 4U);
  EXPECT_EQ(lines[1], "fold             9      7  -2       0.00");
  EXPECT_EQ(lines[2], "fuse             7      7  changed  1.00");
  EXPECT_EQ(lines[3], "drop             7      7           0.00");
}

}  // namespace
}  // namespace shoal
