// PlacedStreams: the streams of `shoal watch` on a cluster, each with the whole network on the
// worker that is best for it.
#pragma once

#include <ctime>
#include <memory>
#include <string>
#include <vector>

#include "apps/commands/plans/plan_settings.h"
#include "planning.h"
#include "shoal/engine/device/device.h"
#include "shoal/plan/placement/cluster_placer.h"
#include "shoal/video/watch/run/watch.h"

namespace shoal::cli {

class PlacedStreams {
 public:
  PlacedStreams(const std::vector<std::string>& sources, const config::PlaceSettings& flags);

  // A device for each. Placements and moves are printed on standard error.
  Result<std::vector<std::unique_ptr<Device>>> open_devices(const PlanFlags& flags);

  // One call at a time.
  void note(const watch::FrameAnswer& answer);

  // The present placement, and its predicted performance.
  placement::ClusterPlacer::Decision latest() const { return placer_->latest(); }

 private:
  const std::vector<std::string> names_;
  // The devices use it as long as they live.
  const std::shared_ptr<placement::ClusterPlacer> placer_;
  std::clock_t last_ = std::clock();
};

}  // namespace shoal::cli
