#include "shoal/shrink/exits/network/multi_exit.h"

#include <gtest/gtest.h>

#include "shoal/model/onnx/export/export.h"
#include "shoal/shrink/exits/network/exits_testing.h"

namespace shoal::exits {
namespace {

using Properties = std::map<std::string, std::string>;

const std::vector<Exit> kTwo = {{"conv 1", "exit1", 0.1, 91.25}, {"conv*2", "exit2", kNever}};

// A network with two exits as a file in memory.
Result<Model> file_with(const Properties& properties, uint64_t seed = 2) {
  SHOAL_ASSIGN(const MultiExit network, testing::random_multi_exit(seed)(1));
  SHOAL_ASSIGN(auto bytes, onnx::to_onnx(network.graph, network.outputs, properties));
  const auto kept = std::make_shared<std::vector<std::byte>>(std::move(bytes));
  return parse_model(kept, *kept);
}

TEST(ExitsInMetadata, AreReadAsTheyWereWritten) {
  const auto read = exits_in(properties_of(kTwo));
  ASSERT_TRUE(read.ok()) << read.status().message();
  ASSERT_EQ(read->size(), kTwo.size());
  for (size_t i = 0; i < kTwo.size(); ++i) {
    EXPECT_EQ((*read)[i].at, kTwo[i].at);
    EXPECT_EQ((*read)[i].scores, kTwo[i].scores);
    EXPECT_EQ((*read)[i].threshold, kTwo[i].threshold);
    EXPECT_EQ((*read)[i].top1, kTwo[i].top1);
  }
}

TEST(ExitsInMetadata, AreNoneWhereItDoesNotSpeakOfThem) {
  const auto read = exits_in({{"author", "anybody"}});
  ASSERT_TRUE(read.ok());
  EXPECT_TRUE(read->empty());
}

TEST(ExitsInMetadata, AreRefusedWhereTheyAreHostile) {
  const std::vector<std::pair<std::string, std::string>> changes = {
      {"shoal.exits", "0"},
      {"shoal.exits", "-1"},
      {"shoal.exits", "3"},
      {"shoal.exits", "2 "},
      {"shoal.exits", "99999999999999999999"},
      {"shoal.exits", "4000000000"},
      {"shoal.exit.1.at", ""},
      {"shoal.exit.2.scores", ""},
      {"shoal.exit.2.scores", "exit1"},
      {"shoal.exit.1.threshold", "nan"},
      {"shoal.exit.1.threshold", "-0.1"},
      {"shoal.exit.1.threshold", "1e9"},
      {"shoal.exit.1.threshold", "0.5\n"},
      {"shoal.exit.1.top1", "101"},
      {"shoal.exit.2.top1", ""}};
  for (const auto& [key, value] : changes) {
    Properties properties = properties_of(kTwo);
    properties[key] = value;
    EXPECT_EQ(exits_in(properties).status().code(), Code::kCorrupt) << key << " " << value;
  }
  for (const auto& [key, value] : properties_of(kTwo)) {
    Properties properties = properties_of(kTwo);
    properties.erase(key);
    const bool may_go = key == "shoal.exits" || key.ends_with(".top1");
    const Code wanted = may_go ? Code::kOk : Code::kCorrupt;
    EXPECT_EQ(exits_in(properties).status().code(), wanted) << key;
  }
}

TEST(LoadMultiExit, FindsTheOutputsByName) {
  const auto network = testing::random_multi_exit(2)(1);
  ASSERT_TRUE(network.ok()) << network.status().message();
  const size_t exits = network->exits.size();
  ASSERT_GT(exits, 1u) << "the test needs two exits";
  std::vector<Exit> reversed(network->exits.rbegin(), network->exits.rend());
  const auto model = file_with(properties_of(reversed));
  ASSERT_TRUE(model.ok()) << model.status().message();
  const auto loaded = load_multi_exit(*model, 1);
  ASSERT_TRUE(loaded.ok()) << loaded.status().message();
  const Graph& graph = loaded->graph;
  for (size_t i = 0; i < exits; ++i) {
    EXPECT_EQ(graph[graph.outputs()[i + 1]].name, network->exits[exits - 1 - i].scores);
  }
}

TEST(LoadMultiExit, RefusesExitsThatTheModelDoesNotHave) {
  const auto network = testing::random_multi_exit(2)(1);
  ASSERT_TRUE(network.ok());
  const auto code_with = [&](const std::vector<Exit>& exits) {
    const auto model = file_with(exits.empty() ? Properties() : properties_of(exits));
    SHOAL_CHECK(model.ok());
    return load_multi_exit(*model, 1).status().code();
  };
  std::vector<Exit> exits = network->exits;
  EXPECT_EQ(code_with(exits), Code::kOk);
  EXPECT_EQ(code_with({}), Code::kInvalidArgument);
  exits[0].scores = "nowhere";
  EXPECT_EQ(code_with(exits), Code::kCorrupt);
  exits[0].scores = network->outputs[0];  // the last classifier's
  EXPECT_EQ(code_with(exits), Code::kCorrupt);
  exits = network->exits;
  exits.pop_back();
  EXPECT_EQ(code_with(exits), Code::kCorrupt);
}

}  // namespace
}  // namespace shoal::exits
