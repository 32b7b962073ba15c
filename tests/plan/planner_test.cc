#include "shoal/plan/search/planner.h"

#include <gtest/gtest.h>

#include "random_plan.h"
#include "run_here.h"
#include "shoal/engine/cpu/cpu.h"
#include "shoal/plan/cost/plan_stats.h"
#include "shoal/plan/device_presets.h"

namespace shoal::plan {
namespace {

// Every plan that the planner makes, of its own accord or because a split is forced.
TEST(Planner, KeepsTheAnswer) {
  const auto device = make_cpu_device({.threads = 1});
  ClusterProfile cluster = uniform_cluster(3, *find_device("pi4"), *find_link("gigabit"));
  cluster.workers[1] = find_device("pi5")->profile();
  std::vector<PlanOptions> ways(1);
  for (Cut cut :
       {Cut::kNone, Cut::kRows, Cut::kColumns, Cut::kGrid, Cut::kChannels, Cut::kInputs}) {
    ways.push_back({.cuts = {cut}, .forced = true});
  }
  for (const char* model : {"mlp", "lenet5", "nin", "encoder"}) {
    const Graph graph = optimized(model);
    Rng rng(1);
    const std::vector<Tensor> inputs = random_inputs(rng, graph);
    const std::vector<Tensor> want = run_whole(graph, *device, inputs);
    for (const PlanOptions& options : ways) {
      const auto plans = make_plans(graph, cluster, options);
      ASSERT_TRUE(plans.ok()) << plans.status().message();
      for (const Prediction& made : *plans) {
        SCOPED_TRACE(std::string(model) + ": " + made.name);
        ASSERT_TRUE(verify(made.graph(), made.plan(), 3).ok());
        expect_near(run_here(made.graph(), made.plan(), *device, inputs), want);
      }
    }
  }
}

TEST(Planner, SharesInputsWhenForced) {
  const ClusterProfile cluster = uniform_cluster(4, *find_device("pi4"), *find_link("gigabit"));
  for (const char* model : {"mlp", "lenet5", "encoder"}) {
    const auto plans =
        make_plans(optimized(model), cluster, {.cuts = {Cut::kInputs}, .forced = true});
    ASSERT_TRUE(plans.ok());
    EXPECT_EQ(plans->front().name, "inputs");
    EXPECT_EQ(workers_of(plans->front().plan()).size(), 4u);
  }
}

TEST(Planner, BeatsWhatWasReported) {
  const Graph vgg = optimized("vgg16");
  const double reported[] = {1.86, 2.30, 3.04};
  for (size_t workers = 2; workers <= 4; ++workers) {
    const ClusterProfile cluster =
        uniform_cluster(workers, *find_device("nexus5"), *find_link("wifi-43.8"));
    const auto one = plan_for_one(vgg, cluster, 0);
    const auto plans = make_plans(vgg, cluster);
    ASSERT_TRUE(one.ok() && plans.ok());
    EXPECT_GT(one->timeline.seconds / plans->front().timeline.seconds, reported[workers - 2]);
  }
}

}  // namespace
}  // namespace shoal::plan
