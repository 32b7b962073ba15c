// Plans for the sets of workers that faults leave.
#include "shoal/cluster/chaos/processes/chaos_workers.h"

#include <gtest/gtest.h>

#include "shoal/model/ops/ops.h"
#include "shoal/plan/device_presets.h"
#include "shoal/plan/survives.h"

namespace shoal::chaos {
namespace {

Graph layers() {
  Graph graph;
  ValueId x = graph.add_input("x", {DType::kF32, {1, 4, 32, 32}});
  for (int i = 0; i < 3; ++i) x = *graph.add(ops::relu, {x});
  graph.mark_output(x);
  return graph;
}

// Workers of a plan.
std::set<int> used_by(const plan::Prediction& made) {
  std::set<int> workers;
  for (const plan::Segment& segment : made.plan().segments) {
    for (const plan::Task& task : segment.tasks) workers.insert(task.worker);
  }
  return workers;
}

void expect_plans_for_sets(const ChaosClusterOptions& options) {
  for (const cluster::Workers& set : {cluster::Workers{0, 1, 2}, {0, 2}, {1}}) {
    const auto made = options.plan(set);
    ASSERT_TRUE(made.ok()) << made.status().message();
    for (int worker : used_by(*made)) EXPECT_TRUE(set.contains(worker)) << worker;
  }
}

TEST(ChaosWorkers, AreCountedAndOpenedWithOnePlanForEachLoss) {
  ChaosWorkers workers{.processes = 4};
  EXPECT_EQ(workers.count(), 4u);
  EXPECT_EQ(workers.steps_to_open(), 6u) << "a start, a plan for all, and four for losses";
  workers.devices =
      plan::uniform_cluster(2, *plan::find_device("pi4"), *plan::find_link("gigabit"));
  EXPECT_EQ(workers.count(), 2u) << "devices are in the place of processes";
}

TEST(ChaosWorkers, AreProcessesOrDevicesWithPlansForEachSet) {
  const ChaosClusterOptions processes = with_processes({.seed = 7, .dilation = 0}, 3, layers(), {});
  EXPECT_EQ(processes.workers, (std::vector<std::string>{"worker-0", "worker-1", "worker-2"}));
  EXPECT_EQ(processes.seed, 7u);
  EXPECT_EQ(processes.dilation, 1);
  EXPECT_TRUE(processes.emulated.workers.empty());
  expect_plans_for_sets(processes);

  const plan::ClusterProfile cluster =
      plan::uniform_cluster(3, *plan::find_device("pi4"), *plan::find_link("gigabit"));
  std::atomic<double> predicted_ms = 0;
  const ChaosClusterOptions devices =
      with_devices({.dilation = 0}, cluster, layers(), {}, predicted_ms);
  EXPECT_EQ(devices.workers.size(), 3u);
  EXPECT_EQ(devices.workers[1], cluster.workers[1].name);
  EXPECT_GE(devices.dilation, 1);
  EXPECT_EQ(with_devices({.dilation = 5}, cluster, layers(), {}, predicted_ms).dilation, 5);
  ASSERT_TRUE(devices.plan({0, 1}).ok());
  EXPECT_EQ(predicted_ms, 0) << "is of all workers";
  expect_plans_for_sets(devices);
  EXPECT_GT(predicted_ms, 0);
}

TEST(ChaosWorkers, AreEnoughToSurviveLosses) {
  std::atomic<double> predicted_ms = 0;
  const auto problem = [&](const ChaosClusterOptions& options, const ChaosWorkers& workers) {
    const auto made = with_workers(options, workers, layers(), predicted_ms);
    return made.ok() ? "" : std::string(made.status().message());
  };
  EXPECT_EQ(problem({}, {.processes = 3, .survive = 2}), "");
  EXPECT_EQ(problem({}, {.processes = 2, .survive = 2}),
            "to survive the loss of 2 takes 3 workers");
  EXPECT_EQ(problem({.verify = 10}, {.processes = 2, .survive = 1}), "");
  EXPECT_EQ(problem({.verify = 10}, {.processes = 2, .survive = 0}),
            "--verify compares what --survive makes redundant");
}

TEST(ChaosWorkers, TellOfEachPlan) {
  std::atomic<double> predicted_ms = 0;
  int plans = 0;
  const plan::ClusterProfile cluster =
      plan::uniform_cluster(3, *plan::find_device("pi4"), *plan::find_link("gigabit"));
  const auto options = with_workers(
      {.dilation = 2}, {.devices = cluster, .on_plan = [&] { ++plans; }}, layers(), predicted_ms);
  ASSERT_TRUE(options.ok());
  EXPECT_EQ(options->workers.size(), 3u) << "devices, not processes";
  ASSERT_TRUE(options->plan({0, 1, 2}).ok());
  EXPECT_EQ(plans, 1);
  EXPECT_GT(predicted_ms, 0);
}

}  // namespace
}  // namespace shoal::chaos
