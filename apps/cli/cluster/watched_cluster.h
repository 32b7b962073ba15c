// A cluster as a device, with a view of its state.
#pragma once

#include <memory>

#include "../planning.h"
#include "shoal/engine/device/device.h"
#include "shoal/serve/devices/cluster_view.h"

namespace shoal::cli {

struct WatchedCluster {
  std::unique_ptr<Device> device;
  std::shared_ptr<serve::ClusterView> view;
};
// As open_cluster_device().
Result<WatchedCluster> open_watched_cluster(const PlanFlags& flags);

}  // namespace shoal::cli
