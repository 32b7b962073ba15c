// What spreading a network would bring, as the public header says it.
#include "shoal/plan/summary.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "shoal/model/zoo/zoo.h"

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

TEST(Summary, SaysWhyOthersAreSlowerAndWhetherAllDevicesHelp) {
  const auto summary = summarize(*zoo::build("alexnet"), {.workers = 4});
  ASSERT_TRUE(summary.ok()) << summary.status().message();
  ASSERT_GT(summary->kinds.size(), 1u);
  EXPECT_EQ(summary->kinds[0].why_slower, "");
  EXPECT_TRUE(summary->kinds[1].why_slower.starts_with("its busiest worker computes "));
  EXPECT_EQ(summary->advice, "All 4 workers are of use.");
  EXPECT_GT(summary->halo_bytes, 0);
  EXPECT_LT(static_cast<double>(summary->halo_bytes), summary->wire_bytes);
  EXPECT_FALSE(summary->price);
}

TEST(Summary, HasAPriceWhereItSurvives) {
  const auto summary = summarize(*zoo::build("lenet5"), {.workers = 5, .survive = 1});
  ASSERT_TRUE(summary.ok()) << summary.status().message();
  ASSERT_TRUE(summary->price);
  EXPECT_GT(summary->price->compute, 1);
  EXPECT_EQ(summary->price->repeated_compute, 2);
  EXPECT_GT(summary->price->unprotected_seconds, 0);
}

Summary small_summary() {
  return {.model = "m",
          .kind = "rows",
          .seconds = 0.002,
          .single_seconds = 0.004,
          .wire_bytes = 100,
          .halo_bytes = 20,
          .messages = 3,
          .error = 0.5,
          .survives = 1,
          .workers = {{"a \"b\"", 0.001, 0.0005, 8}},
          .advice = "Yes.",
          .text = "one\ntwo"};
}

TEST(Summary, IsOneObjectInJson) {
  EXPECT_EQ(to_json(small_summary()),
            R"({"model":"m","kind":"rows","predicted_ms":2,"cluster_ms":2,"single_ms":4,)"
            R"("speedup":2,"wire_bytes":100,"halo_bytes":20,"messages":3,"error":0.5,"survive":1,)"
            R"("workers":[{"name":"a \"b\"","compute_ms":1,"transfer_ms":0.5,"memory_bytes":8}],)"
            R"("alternatives":[],"advice":"Yes.","plan":"one\ntwo"})");
}

TEST(Summary, TellsOfTwoAlternativesInJson) {
  Summary summary = small_summary();
  summary.kinds = {{"rows", 0.002}, {"grid", 0.003, "why"}, {"none", 0.004, "so"}, {"more", 1, ""}};
  EXPECT_NE(to_json(summary).find(
                R"("alternatives":[{"name":"grid","predicted_ms":3,"why_slower":"why"},)"
                R"({"name":"none","predicted_ms":4,"why_slower":"so"}],)"),
            std::string::npos)
      << to_json(summary);
}

TEST(Summary, TellsThePriceInJson) {
  Summary summary = small_summary();
  summary.price = PriceSummary{.unprotected_seconds = 0.001,
                               .repeated_seconds = 0.003,
                               .compute = 1.5,
                               .repeated_compute = 2,
                               .wire_bytes = 7,
                               .memory_bytes = 9,
                               .codes = 4,
                               .bounded_seconds = 0.002,
                               .bounded_compute = 1.25};
  EXPECT_TRUE(to_json(summary).ends_with(
      R"("price":{"unprotected_ms":1,"repeated_ms":3,"compute":1.5,"repeated_compute":2,)"
      R"("wire_bytes":7,"memory_bytes":9,"codes":4,"bounded_ms":2,"bounded_compute":1.25}})"))
      << to_json(summary);
}

TEST(Summary, IsUtf8InJsonWhateverAModelNames) {
  Summary summary = small_summary();
  summary.text = "x\xff";
  EXPECT_NE(to_json(summary).find("\"plan\":\"x\xEF\xBF\xBD\""), std::string::npos);
}

TEST(Summary, NamesTheProfilesThereAre) {
  EXPECT_EQ(std::ranges::count(device_names(), "pi4"), 1);
  EXPECT_EQ(std::ranges::count(link_names(), "gigabit"), 1);
}

}  // namespace
}  // namespace shoal::plan
