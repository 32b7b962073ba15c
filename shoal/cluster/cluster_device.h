// A cluster is a Device: compiling a graph plans it and gives every worker its part.
#pragma once

#include <chrono>
#include <functional>
#include <memory>

#include "shoal/cluster/coordinator.h"
#include "shoal/device/device.h"
#include "shoal/plan/planner.h"

namespace shoal::cluster {

struct ClusterOptions {
  plan::ClusterProfile profile;  // of the coordinator's workers, in their order
  plan::PlanOptions plan;
  std::chrono::milliseconds patience{60'000};  // for one request
  // Called with every plan that is made, the best first; the best is carried out.
  std::function<void(const Graph&, const std::vector<plan::Prediction>&)> planned;
};

// The coordinator outlives the device.
std::unique_ptr<Device> make_cluster_device(Coordinator& coordinator, ClusterOptions options);

}  // namespace shoal::cluster
