// What spreading a network would bring, as the public header says it.
#include "shoal/plan/summary.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "shoal/zoo/zoo.h"

namespace shoal::plan {
namespace {

TEST(Summary, SaysThatFourDevicesAreFasterThanOneAtALargeNetwork) {
  const auto summary = summarize(*zoo::build("alexnet"), {.workers = 4, .device = "pi4"});
  ASSERT_TRUE(summary.ok()) << summary.status().message();
  EXPECT_GT(summary->speedup(), 2);
  ASSERT_EQ(summary->workers.size(), 4u);
  EXPECT_EQ(summary->workers[3].name, "pi4-3");
  EXPECT_GT(summary->workers[3].compute_seconds, 0);
  EXPECT_LT(summary->workers[3].compute_seconds, summary->seconds);
  EXPECT_GT(summary->wire_bytes, 0);
  // "rows, grid and channels" is a plan with segments of these kinds.
  const std::string first_kind = summary->kind.substr(0, summary->kind.find_first_of(", "));
  EXPECT_NE(summary->text.find(first_kind), std::string::npos) << summary->kind;
}

TEST(Summary, SaysWhoComputesWhatAndWhatElseWasTried) {
  const auto summary = summarize(*zoo::build("alexnet"), {.workers = 3, .excluded = {1}});
  ASSERT_TRUE(summary.ok()) << summary.status().message();
  EXPECT_EQ(summary->workers[1].compute_seconds, 0);
  size_t nodes = 0;
  for (const SegmentSummary& segment : summary->segments) {
    nodes += segment.nodes.size();
    EXPECT_EQ(std::ranges::count(segment.workers, 1), 0);
    EXPECT_FALSE(segment.workers.empty());
  }
  EXPECT_GT(nodes, 5u);
  ASSERT_FALSE(summary->kinds.empty());
  EXPECT_EQ(summary->kinds[0].kind, summary->kind);
  EXPECT_EQ(summary->kinds[0].seconds, summary->seconds);
}

TEST(Summary, SurvivesAsManyLossesAsAskedFor) {
  const auto summary = summarize(*zoo::build("lenet5"), {.workers = 3, .survive = 1});
  ASSERT_TRUE(summary.ok()) << summary.status().message();
  EXPECT_EQ(summary->survives, 1);
}

TEST(Summary, RefusesWhatThereIsNot) {
  const Graph graph = *zoo::build("lenet5");
  EXPECT_EQ(summarize(graph, {.device = "abacus"}).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(summarize(graph, {.link = "string"}).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(summarize(graph, {.workers = 0}).status().code(), Code::kInvalidArgument);
  EXPECT_EQ(summarize(graph, {.survive = 3}).status().code(), Code::kInvalidArgument);
  for (int worker : {-1, 2}) {
    EXPECT_EQ(summarize(graph, {.workers = 2, .excluded = {worker}}).status().code(),
              Code::kInvalidArgument);
  }
  EXPECT_EQ(summarize(graph, {.workers = 1, .excluded = {0}}).status().code(),
            Code::kInvalidArgument);
  EXPECT_EQ(summarize(graph, {.workers = 2, .survive = 1, .excluded = {0, 0}}).status().code(),
            Code::kInvalidArgument);
  EXPECT_EQ(summarize(graph, {.workers = 1, .survive = 1}).status().code(), Code::kInvalidArgument);
}

TEST(Summary, IsOneObjectInJson) {
  const Summary summary{.kind = "rows",
                        .seconds = 0.002,
                        .single_seconds = 0.004,
                        .wire_bytes = 100,
                        .messages = 3,
                        .survives = 1,
                        .workers = {{"a \"b\"", 0.001, 0.0005, 8}},
                        .text = "one\ntwo"};
  EXPECT_EQ(to_json(summary),
            R"({"kind":"rows","predicted_ms":2,"single_ms":4,"speedup":2,"wire_bytes":100,)"
            R"("messages":3,"survive":1,"workers":[{"name":"a \"b\"","compute_ms":1,)"
            R"("transfer_ms":0.5,"memory_bytes":8}],"plan":"one\u000atwo"})");
}

TEST(Summary, NamesTheProfilesThereAre) {
  EXPECT_EQ(std::ranges::count(device_names(), "pi4"), 1);
  EXPECT_EQ(std::ranges::count(link_names(), "gigabit"), 1);
}

}  // namespace
}  // namespace shoal::plan
