// A cluster is a Device: compiling a graph plans it and gives every worker its part.
#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include "shoal/cluster/coordinator.h"
#include "shoal/device/device.h"
#include "shoal/plan/search/planner.h"

namespace shoal::cluster {

struct ClusterOptions {
  // How fast the coordinator's workers are at this graph, in their order. Asked once per graph.
  std::function<Result<plan::ClusterProfile>(const Graph&)> profile;
  plan::PlanOptions plan;
  // Gives plans, the best first; whoever knows some already need not search for them again.
  std::function<Result<std::vector<plan::Prediction>>(const Graph&, const plan::ClusterProfile&,
                                                      const plan::PlanOptions&)>
      make_plans = &plan::make_plans;
  std::chrono::milliseconds timeout{60'000};  // for one request
  bool standby = false;                       // see FailoverOptions
  std::chrono::milliseconds retry_interval{0};
  // Called with the plans of every set of workers, the best first; the best is carried out. On any
  // thread, one at a time.
  std::function<void(const Graph&, const std::vector<plan::Prediction>&)> planned;
};

// The coordinator outlives the device, and the device what it compiles. A request that loses a
// worker is replayed by those that are left.
std::unique_ptr<Device> make_cluster_device(Coordinator& coordinator, ClusterOptions options);

}  // namespace shoal::cluster
