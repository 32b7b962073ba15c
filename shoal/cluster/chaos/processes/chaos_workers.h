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

// So many processes, "worker-0" on, in the time of this machine.
ChaosClusterOptions with_processes(ChaosClusterOptions options, size_t workers, const Graph& graph,
                                   const plan::PlanOptions& plan);

// The devices of a cluster that is in options.cluster_file, too. Where options.dilation is 0, it is
// chosen for this machine. `predicted_ms` becomes the time of a request when a plan for all of them
// is made. REQUIRES: it outlives the options' plan.
ChaosClusterOptions with_devices(ChaosClusterOptions options, const plan::ClusterProfile& cluster,
                                 const Graph& graph, const plan::PlanOptions& plan,
                                 std::atomic<double>& predicted_ms);

// Which of both, and what plans are for.
struct ChaosWorkers {
  size_t processes = 5;
  plan::ClusterProfile devices = {};   // in their place, if it has workers
  int survive = 1;                     // losses at once
  std::function<void()> on_plan = {};  // called before each plan is made, on any thread

  size_t count() const { return devices.workers.empty() ? processes : devices.workers.size(); }
  // Steps until a cluster of them is open: it starts, and makes a plan for all of them and one for
  // each set with one fewer.
  size_t steps_to_open() const { return count() + 2; }
};

// Either of these. `predicted_ms` stays as it is for processes. kInvalidArgument where there are
// not enough workers to survive so many losses, and for checks of what is not redundant.
Result<ChaosClusterOptions> with_workers(ChaosClusterOptions options, const ChaosWorkers& workers,
                                         const Graph& graph, std::atomic<double>& predicted_ms);

}  // namespace shoal::chaos
