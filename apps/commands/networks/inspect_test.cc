#include "apps/commands/networks/inspect.h"

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

LayerProfile two_layers() {
  LayerProfile profile;
  profile.layers = {{.name = "a", .op = "Relu", .output = "f32[1]", .median_ms = 1},
                    {.name = "b",
                     .op = "Conv",
                     .output = "f32[2]",
                     .kernel = {.name = "direct"},
                     .macs = 6'000'000,
                     .median_ms = 3}};
  profile.layers[1].kernel.timing = {
      .microseconds = 10, .runner_up = "winograd2", .runner_up_microseconds = 13};
  profile.events = {{1, std::chrono::microseconds(5), std::chrono::microseconds(8)}};
  return profile;
}

TEST(ProfileFacts, PutTheSlowestFirstWhereSomeAreLeftOut) {
  const auto all = rows_of(two_layers());
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0][0].cell, "a");
  EXPECT_EQ(all[0][6].cell, "") << "no products, no rate";
  EXPECT_EQ(all[1][2].cell, "direct 1.3x winograd2");
  EXPECT_EQ(all[1][5].cell, "75.0 %");
  EXPECT_EQ(all[1][6].cell, "2.0");
  EXPECT_EQ(two_layers().slowest_ms(1), 3);
  EXPECT_EQ(two_layers().slowest_ms(5), 4);
  const auto some = rows_of(two_layers(), 1);
  ASSERT_EQ(some.size(), 1U);
  EXPECT_EQ(some[0][0].cell, "b");
}

TEST(ProfileFacts, EndWithTheRestAndTheTotal) {
  using Lines = std::vector<std::string>;
  const Lines some = table_of(two_layers(), 1).lines();
  ASSERT_EQ(some.size(), 5U) << "a header, a layer, a rule, the rest, the total";
  EXPECT_TRUE(some[1].starts_with("b ")) << some[1];
  EXPECT_EQ(some[2].find_first_not_of('-'), std::string::npos);
  EXPECT_TRUE(some[3].starts_with("1 more ")) << some[3];
  EXPECT_TRUE(some[3].ends_with(" 1.000  25.0 %")) << some[3];
  EXPECT_TRUE(some[4].starts_with("total ") && some[4].ends_with(" 4.000")) << some[4];
  EXPECT_EQ(table_of(two_layers()).lines().size(), 5U) << "both layers, and none left out";
  EXPECT_EQ(table_of(LayerProfile()).lines().size(), 3U);
}

TEST(ProfileFacts, HaveSumsThatScriptsWatchThoughTheyAreZero) {
  const std::string json = to_json(two_layers()).dump();
  EXPECT_NE(json.find(R"("direct":3.0,"reference":0.0,"reorder":0.0)"), json.npos) << json;
  EXPECT_NE(json.find(R"("runner_up":"winograd2")"), json.npos) << json;
  EXPECT_NE(json.find(R"("tuning":null)"), json.npos) << json;
  EXPECT_NE(json.find(R"("total_ms":4.0)"), json.npos) << json;
}

TEST(ProfileFacts, OfARunAreEventsForPerfetto) {
  EXPECT_EQ(to_perfetto(two_layers()).dump(),
            R"({"displayTimeUnit":"ms","traceEvents":[{"args":{"kernel":"direct","macs":6000000,)"
            R"("output":"f32[2]"},"cat":"Conv","dur":3.0,"name":"b","ph":"X","pid":1,"tid":1,)"
            R"("ts":5.0}]})");
}

}  // namespace
}  // namespace shoal
