// PlacedStreams: the streams of `shoal watch` on a cluster, each with the whole network on the
// worker that is best for it.
#pragma once

#include <ctime>
#include <memory>
#include <string>
#include <vector>

#include "apps/flags/flags.h"
#include "planning.h"
#include "shoal/device/device.h"
#include "shoal/placement/cluster_placer.h"
#include "shoal/watch/watch.h"

namespace shoal::cli {

struct PlaceFlags {
  std::string place = "auto";
  double rate = 30, watts = 0;

  void add_to(Command& command);
  // Whether streams are placed; otherwise one network is split for all of them.
  bool is_whole(const PlanFlags& plan, size_t streams, bool delta) const;
  Status check(const PlanFlags& plan, bool delta) const;  // of flags that do not go together
};

class PlacedStreams {
 public:
  PlacedStreams(const std::vector<std::string>& sources, const PlaceFlags& flags);

  // A device for each. Where streams are, and when they move, is a line on standard error.
  Result<std::vector<std::unique_ptr<Device>>> open_devices(const PlanFlags& flags);

  // One call at a time.
  void note(const watch::FrameAnswer& answer);

  // Where streams are now, and what is expected of them.
  placement::ClusterPlacer::Decision latest() const { return placer_->latest(); }

 private:
  const std::vector<std::string> names_;
  // The devices use it as long as they live.
  const std::shared_ptr<placement::ClusterPlacer> placer_;
  std::clock_t last_ = std::clock();
};

}  // namespace shoal::cli
