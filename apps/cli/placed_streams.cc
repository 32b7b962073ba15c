#include "placed_streams.h"

#include <cstdio>
#include <thread>
#include <utility>

#include "cluster/cluster_device.h"
#include "shoal/video/mqtt/reporter.h"

namespace shoal::cli {

PlacedStreams::PlacedStreams(const std::vector<std::string>& sources,
                             const config::PlaceSettings& settings)
    : names_(mqtt::camera_names(sources)),
      placer_(std::make_shared<placement::ClusterPlacer>(placement::StreamsHere{
          .names = names_,
          .rate = settings.rate,
          .cores = std::max(1.0, static_cast<double>(std::thread::hardware_concurrency())),
          .watts = settings.watts})) {}

Result<std::vector<std::unique_ptr<Device>>> PlacedStreams::open_devices(const PlanFlags& flags) {
  const auto place = [placer = placer_](const Graph& network, const plan::ClusterProfile& cluster,
                                        const std::set<int>& workers) {
    std::vector<int> placed = placer->place(network, cluster, workers);
    std::fputs(placer->news().c_str(), stderr);
    return placed;
  };
  return open_client_devices(flags, place, names_.size());
}

// This process computes, on all threads, for frames: the decoders are separate processes.
void PlacedStreams::note(const watch::FrameAnswer& answer) {
  const std::clock_t now = std::clock();
  const double seconds = static_cast<double>(now - std::exchange(last_, now)) / CLOCKS_PER_SEC;
  placer_->note(answer.source, answer.looked, seconds);
}

}  // namespace shoal::cli
