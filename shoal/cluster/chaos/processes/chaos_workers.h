// The workers of a ChaosCluster and plans for any set of them: equal processes of this machine, or
// emulated devices.
#pragma once

#include <atomic>
#include <cstddef>
#include <functional>

#include "shoal/cluster/chaos/processes/chaos_cluster.h"
#include "shoal/model/graph/graph.h"
#include "shoal/plan/search/planner.h"

namespace shoal::chaos {

// Adds `count` processes, "worker-0" and so on, in real time.
ChaosClusterOptions with_processes(ChaosClusterOptions options, size_t workers, const Graph& graph,
                                   const plan::PlanOptions& plan);

// Adds the devices of a cluster that is also in options.cluster_file. If options.dilation is 0, it
// is chosen for this machine. `predicted_ms` becomes the time of a request when a plan for all of
// them is made. REQUIRES: it outlives the options' plan.
ChaosClusterOptions with_devices(ChaosClusterOptions options, const plan::ClusterProfile& cluster,
                                 const Graph& graph, const plan::PlanOptions& plan,
                                 std::atomic<double>& predicted_ms);

// Processes or devices, and the requirements of their plans.
struct ChaosWorkers {
  size_t processes = 5;
  plan::ClusterProfile devices = {};   // in their place, if it has workers
  int survive = 1;                     // losses at once
  std::function<void()> on_plan = {};  // called before each plan is made, on any thread

  size_t count() const { return devices.workers.empty() ? processes : devices.workers.size(); }
  // Steps until a cluster of them is open: its start, a plan for all of them, and one for each set
  // with one fewer.
  size_t steps_to_open() const { return count() + 2; }
};

// Adds processes or devices. `predicted_ms` is left alone for processes. kInvalidArgument if there
// are not enough workers to survive the losses, and for checks of plans without redundancy.
Result<ChaosClusterOptions> with_workers(ChaosClusterOptions options, const ChaosWorkers& workers,
                                         const Graph& graph, std::atomic<double>& predicted_ms);

}  // namespace shoal::chaos
