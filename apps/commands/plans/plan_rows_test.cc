// Plans as rows of tables, in words and as JSON.
#include <gtest/gtest.h>

#include "apps/commands/plans/plan.h"
#include "shoal/model/ops/ops.h"
#include "shoal/model/passes/passes.h"
#include "shoal/model/zoo/zoo.h"
#include "shoal/plan/comparison/comparison_summary.h"
#include "shoal/plan/comparison/conclusion.h"
#include "shoal/plan/device_presets.h"
#include "shoal/plan/stream/stream.h"

namespace shoal::plan {
namespace {

ClusterProfile cluster_of(size_t workers) {
  return uniform_cluster(workers, *find_device("pi4"), *find_link("gigabit"));
}

Graph optimized(std::string_view model) { return *passes::optimize(*zoo::build(model)); }

Graph layers(int count) {
  Graph graph;
  ValueId x = graph.add_input("x", {DType::kF32, {1, 4, 16, 16}});
  for (int i = 0; i < count; ++i) x = *graph.add(ops::relu, {x});
  graph.mark_output(x);
  return graph;
}

TEST(ComparisonFacts, HaveARowForEachSegmentAndWorker) {
  const Comparison made = *compare_plans(optimized("alexnet"), cluster_of(2), {});
  const auto segments = segment_rows(made);
  ASSERT_EQ(segments.size(), made.best().plan().segments.size());
  size_t nodes = 0;
  for (const Facts& row : segments) nodes += std::stoul(row[0].cell);
  EXPECT_EQ(nodes, made.best().graph().nodes().size()) << "every node is in one segment";
  const auto workers = worker_rows(made);
  ASSERT_EQ(workers.size(), 2U);
  EXPECT_EQ(workers[1][1].cell, "pi4-1");
  EXPECT_NE(workers[0][4].cell, "0 B");
}

TEST(ComparisonFacts, ForScriptsAreTheSummary) {
  const Comparison made = *compare_plans(optimized("lenet5"), cluster_of(2), {});
  Summary summary = summarize(made);
  summary.model = "zoo:lenet5";
  EXPECT_EQ(to_json(made, "zoo:lenet5").dump(), Json::parse(to_json(summary))->dump());
}

TEST(ComparisonFacts, SayWhyOthersAreSlowerAndWhatHelps) {
  const Comparison made = *compare_plans(optimized("alexnet"), cluster_of(3), {});
  ASSERT_GE(made.plans.size(), 3U);
  const std::string text = summary_text(made);
  EXPECT_TRUE(text.starts_with(made.best().name + ": ")) << text;
  EXPECT_NE(text.find("of them halos\n"), text.npos) << text;
  EXPECT_NE(text.find(" ms: " + why_slower(made, made.plans[2]) + "\n"), text.npos) << text;
  EXPECT_EQ(text.find(why_slower(made, made.plans.back())) != text.npos, made.plans.size() <= 3);
  EXPECT_TRUE(text.ends_with(advice_text(made) + "\n")) << text;
  const Comparison safe = *compare_plans(optimized("lenet5"), cluster_of(3), {.survive = 1});
  const std::string protected_text = summary_text(safe);
  EXPECT_EQ(protected_text.find("halos"), text.npos) << "nearly all of it is read twice";
  EXPECT_NE(protected_text.find(price_text(safe) + "\n"), text.npos) << protected_text;
}

TEST(StreamFacts, ShareTheirNamesWithPlansForOneRequest) {
  const StreamComparison made = *compare_streams(optimized("alexnet"), cluster_of(2), {});
  const auto stages = stage_rows(made);
  ASSERT_EQ(stages.size(), made.best().turns[0].plan().segments.size());
  EXPECT_EQ(worker_rows(made).size(), 2U);
  const std::string json = to_json(made, "alexnet").dump();
  for (const char* name : {"model", "cluster_ms", "predicted_ms", "single_ms", "speedup", "survive",
                           "workers", "alternatives", "advice", "plan", "kind"}) {
    EXPECT_NE(json.find("\"" + std::string(name) + "\":"), json.npos) << name;
  }
  EXPECT_NE(json.find(R"("workers":[{"compute_ms":)"), json.npos) << json;
  const std::string text = summary_text(made);
  EXPECT_TRUE(text.starts_with(made.best().name + ": an answer every ")) << text;
  EXPECT_TRUE(text.ends_with(advice_text(made) + "\n")) << text;
}

TEST(BesideOneWorker, IsOneRowForPlansAndStreams) {
  const Comparison made = *compare_plans(optimized("alexnet"), cluster_of(2), {});
  const BesideOne beside = beside_one(made, "alexnet");
  EXPECT_EQ(beside.workers, 2U);
  EXPECT_EQ(beside.plan, made.best().name);
  EXPECT_NEAR(beside.speedup, beside.single_ms / beside.cluster_ms, 1e-9);
  EXPECT_EQ(facts_of(beside)[0].cell, "alexnet");
  EXPECT_EQ(facts_of(beside)[3].cell, fixed(beside.single_ms, 1));
  const StreamComparison stream = *compare_streams(optimized("alexnet"), cluster_of(2), {});
  const BesideOne often = beside_one(stream, "alexnet");
  EXPECT_NEAR(often.speedup, often.single_ms / often.cluster_ms, 1e-9);
  EXPECT_EQ(often.wire_bytes, wire_bytes_per_request(stream.best()));
}

TEST(Tenancy, HasARateForEachModel) {
  EXPECT_EQ(tenancy_of({"a", "b"}, {})->rates, (std::vector<double>{1, 1}));
  EXPECT_EQ(tenancy_of({"a", "b"}, {2, 3})->rates, (std::vector<double>{2, 3}));
  EXPECT_EQ(tenancy_of({"a", "b"}, {2}).status().message(),
            "rates: there are 2 models, and 1 rates");
}

TEST(Tenancy, IsPlannedForItsModelsAndRates) {
  const Graph graphs[] = {layers(1), layers(3)};
  const Tenancy asked{{"a", "b"}, {0.5, 0.25}, cluster_of(3), {}};
  const auto made = plan_together(asked, graphs, {.excluded = {1}});
  ASSERT_TRUE(made.ok()) << made.status().message();
  const Tenant tenants[] = {{&graphs[0], 0.5}, {&graphs[1], 0.25}};
  const auto plans = *plan_tenants(tenants, asked.cluster, {.excluded = {1}});
  ASSERT_EQ(made->plans.size(), 2U);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(to_text(made->plans[i].plan.graph(), made->plans[i].plan.plan()),
              to_text(plans[i].plan.graph(), plans[i].plan.plan()));
    EXPECT_EQ(made->plans[i].demand.compute, plans[i].demand.compute);
    EXPECT_EQ(made->plans[i].demand.compute[1], 0) << "it is excluded";
  }
  EXPECT_EQ(plan_together({{"a", "b"}, {1e9, 1}, cluster_of(2), {}}, graphs).status().code(),
            Code::kExhausted);
}

TEST(TenantFacts, SayHowBusyEachWorkerIsWithEachModel) {
  const Graph graphs[] = {optimized("lenet5"), optimized("lenet5")};
  const Tenancy made = *plan_together({{"a", "b"}, {1, 5}, cluster_of(2), {}}, graphs);
  const auto models = model_rows(made);
  ASSERT_EQ(models.size(), 2U);
  EXPECT_EQ(models[1][1].cell, "5.0");
  const auto workers = worker_rows(made);
  ASSERT_EQ(workers.size(), 2U);
  EXPECT_EQ(workers[0][3].column, "busy with b %");
  const std::string json = to_json(made).dump();
  EXPECT_TRUE(json.starts_with(R"({"largest_slowdown":)")) << json;
  EXPECT_NE(json.find(R"("workers":[{"busy":[)"), json.npos) << json;
  EXPECT_EQ(json.find("busy with"), json.npos) << "for people only";
}

TEST(StragglerFacts, CompareWaitingWithGoingOn) {
  StragglerLatencies latencies;
  for (double ms : {1.0, 3.0}) latencies.first.add(ms);
  for (double ms : {4.0, 4.0}) latencies.all.add(ms);
  const auto rows = rows_of(latencies, "m", "rows");
  ASSERT_EQ(rows.size(), 3U);
  EXPECT_EQ(rows[0][0].cell, "m");
  EXPECT_EQ(rows[0][3].cell, "4.0");
  EXPECT_EQ(rows[1][3].cell, "2.0");
  EXPECT_EQ(rows[2][3].cell, "50 %");
  const std::string json = to_json(latencies).dump();
  EXPECT_NE(json.find(R"("mean_ms":2.0)"), json.npos) << json;
  EXPECT_NE(json.find(R"("waiting_mean_ms":4.0)"), json.npos) << json;
  EXPECT_NE(json.find(R"("requests":2)"), json.npos) << json;
}

}  // namespace
}  // namespace shoal::plan
