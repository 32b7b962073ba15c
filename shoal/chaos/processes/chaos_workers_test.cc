// Plans for the sets of workers that faults leave.
#include "shoal/chaos/processes/chaos_workers.h"

#include <gtest/gtest.h>

#include "shoal/ops/ops.h"
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

}  // namespace
}  // namespace shoal::chaos
