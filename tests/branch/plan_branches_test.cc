// A network of branches over workers: one worker for each, and the same answer.
#include <gtest/gtest.h>

#include <set>

#include "../plan/run_here.h"
#include "shoal/engine/cpu/cpu.h"
#include "shoal/model/graph/text.h"
#include "shoal/model/ops/ops.h"
#include "shoal/model/passes/passes.h"
#include "shoal/model/zoo/zoo.h"
#include "shoal/plan/device_presets.h"
#include "shoal/plan/search/branches.h"
#include "shoal/shrink/branches/make_branches.h"

namespace shoal::plan {
namespace {

Graph in_branches(const char* name, const branch::BranchOptions& options) {
  const Graph graph = *zoo::build(name, {.width = 0.5});
  return *passes::optimize(branch::make_branches(graph, options)->graph);
}

ClusterProfile pis(size_t workers) {
  return uniform_cluster(workers, *find_device("pi3"), *find_link("ethernet-100"));
}

Prediction planned(const Graph& graph, const ClusterProfile& cluster) {
  std::vector<int> workers;
  for (size_t w = 0; w < cluster.workers.size(); ++w) workers.push_back(static_cast<int>(w));
  return **plan_branches(graph, *find_branches(graph), cluster, workers);
}

// N messages with the input, N with what branches give and the answer, as many bytes as these have,
// and none between branches.
TEST(PlanBranches, SendsTwoMessagesForEachBranch) {
  for (const branch::Merge merge : {branch::Merge::kSum, branch::Merge::kConcat}) {
    const Graph graph = in_branches("lenet5", {.widths = branch::equal_widths(4), .merge = merge});
    const Branches branches = *find_branches(graph);
    const Prediction prediction = planned(graph, pis(4));
    ASSERT_TRUE(verify(prediction.graph(), prediction.plan(), 4).ok());
    ASSERT_EQ(prediction.schedule().transfers.size(), 8u);
    const int joins = prediction.plan().segments[1].tasks[0].worker;
    size_t inputs = 0, to_join = 0;
    for (const Transfer& sent : prediction.schedule().transfers) {
      inputs += sent.from == kCoordinator ? 1 : 0;
      to_join += sent.from != kCoordinator && sent.to == joins ? 1 : 0;
    }
    EXPECT_EQ(inputs, 4u);
    EXPECT_EQ(to_join, 3u);
    const size_t bytes = 4 * graph[graph.inputs()[0]].type.bytes() +
                         3 * graph[branches.ends[0][0]].type.bytes() +
                         graph[graph.outputs()[0]].type.bytes();
    EXPECT_EQ(prediction.timeline.wire_bytes, static_cast<double>(bytes));
  }
}

TEST(PlanBranches, KeepsTheAnswer) {
  const auto device = make_cpu_device({.threads = 1});
  const branch::BranchOptions ways[] = {
      {.widths = branch::equal_widths(4), .merge = branch::Merge::kSum},
      {.widths = branch::equal_widths(4), .fatten = 20, .merge = branch::Merge::kConcat},
      {{1, 2, 4}}};
  for (const char* name : {"lenet5", "convnet", "resnet20"}) {
    for (const branch::BranchOptions& options : ways) {
      const Graph graph = in_branches(name, options);
      Rng rng(1);
      const std::vector<Tensor> inputs = random_inputs(rng, graph);
      const std::vector<Tensor> want = run_whole(graph, *device, inputs);
      for (size_t workers : {2, 3, 4, 6}) {  // fewer than branches, too
        const Prediction prediction = planned(graph, pis(workers));
        EXPECT_EQ(prediction.plan().segments[0].tasks.size(),
                  std::min(workers, options.widths.size()));
        expect_near(run_here(graph, prediction.plan(), *device, inputs), want);
      }
    }
  }
}

TEST(PlanBranches, IsWhatThePlannerFinds) {
  const Graph graph = in_branches("vgg16cifar", {branch::equal_widths(4)});
  const auto plans = make_plans(graph, pis(4));
  ASSERT_TRUE(plans.ok());
  EXPECT_EQ(plans->front().name, "branches");
}

TEST(PlanBranches, GivesTheWidestBranchToTheFastestWorker) {
  ClusterProfile cluster = pis(3);
  scale(cluster.workers[0], 4);
  scale(cluster.workers[2], 2);
  const Graph graph = in_branches("convnet", {{1, 2, 4}});
  const Branches branches = *find_branches(graph);
  const Prediction prediction = planned(graph, cluster);
  const size_t branch_of_worker[] = {0, 2, 1};
  for (const Task& task : prediction.plan().segments[0].tasks) {
    const size_t branch = branch_of_worker[static_cast<size_t>(task.worker)];
    EXPECT_EQ(task.outputs[0].value, branches.ends[branch][0]);
  }
}

TEST(PlanBranches, FindsNoWorkerWithoutMemory) {
  ClusterProfile cluster = pis(2);
  for (WorkerProfile& worker : cluster.workers) worker.memory_bytes = 1000;
  const Graph graph = in_branches("lenet5", {branch::equal_widths(2)});
  const auto result = plan_branches(graph, *find_branches(graph), cluster, {0, 1});
  ASSERT_TRUE(result.ok());
  EXPECT_FALSE(result->has_value());
}

size_t branches_in(const std::string& nodes) {
  const auto graph = parse_text("input x f32[1,2]\nconst w f32[2,2] = ones\n" + nodes, ops::find);
  EXPECT_TRUE(graph.ok()) << graph.status().message();
  const auto found = find_branches(*graph);
  return found ? found->ends.size() : 0;
}

TEST(FindBranches, CountsWhatSharesOnlyTheInput) {
  const std::string two = "a = MatMul(x, w)\nb = MatMul(x, w)\n";
  EXPECT_EQ(branches_in("a = MatMul(x, w)\nb = Abs(a)\noutput b\n"), 0u);
  EXPECT_EQ(branches_in(two + "c = Add(a, b)\noutput c\n"), 2u);
  // A shortcut is no branch.
  EXPECT_EQ(branches_in("a = MatMul(x, w)\nb = MatMul(a, w)\nc = Add(a, b)\noutput c\n"), 0u);
  // Joined two by two; interleaved.
  EXPECT_EQ(branches_in(two + "c = MatMul(x, w)\nd = Abs(a)\ne = Add(d, b)\nf = Add(e, c)\n"
                              "output f\n"),
            3u);
  // Values made of weights or of the input, without products, belong to all branches.
  EXPECT_EQ(branches_in("v = Abs(w)\na = MatMul(x, v)\nb = Abs(x)\nc = Add(a, b)\noutput c\n"), 0u);
  EXPECT_EQ(branches_in("r = Relu(x)\na = MatMul(r, w)\nb = MatMul(r, w)\nc = Add(a, b)\n"
                        "output c\n"),
            2u);
  // But not if the joint reads it, too.
  EXPECT_EQ(branches_in("r = Relu(x)\na = MatMul(r, w)\nb = MatMul(r, w)\nc = Add(a, b)\n"
                        "d = Add(c, r)\noutput d\n"),
            0u);
}

}  // namespace
}  // namespace shoal::plan
