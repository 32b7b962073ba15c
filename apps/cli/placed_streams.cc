#include "placed_streams.h"

#include <cstdio>
#include <thread>
#include <utility>

#include "cluster/cluster_device.h"
#include "shoal/mqtt/reporter.h"

namespace shoal::cli {

void PlaceFlags::add_to(Command& command) {
  command.add_setting(
      "--place", place,
      "With --cluster: whole, each stream on the worker that is best for it; split, one "
      "network over all workers; auto: whole for several sources",
      one_of({"auto", "whole", "split"}));
  command.add_setting("--rate", rate,
                      "Frames a second that each source has, for --place to plan by",
                      in_range(0.01, 1e4));
  command.add_option("--watts", watts,
                     "Of a worker that computes, beyond those at rest: for the energy of a frame",
                     in_range(0.0, 1e6));
}

Status PlaceFlags::check(const PlanFlags& plan, bool delta) const {
  if (place != "whole") return {};
  if (!plan.is_on_cluster()) return invalid("--place: whole needs --cluster");
  if (delta || plan.survive > 0 || plan.is_stream() || plan.split != "any") {
    return invalid("--place: whole goes without --delta, --survive, --split and --objective");
  }
  return {};
}

bool PlaceFlags::is_whole(const PlanFlags& plan, size_t streams, bool delta) const {
  if (place != "auto") return place == "whole";
  const PlaceFlags whole{.place = "whole"};
  return streams > 1 && whole.check(plan, delta).ok();
}

PlacedStreams::PlacedStreams(const std::vector<std::string>& sources, const PlaceFlags& flags)
    : names_(mqtt::camera_names(sources)),
      placer_(std::make_shared<placement::ClusterPlacer>(placement::StreamsHere{
          .names = names_,
          .rate = flags.rate,
          .cores = std::max(1.0, static_cast<double>(std::thread::hardware_concurrency())),
          .watts = flags.watts})) {}

Result<std::vector<std::unique_ptr<Device>>> PlacedStreams::open_devices(const PlanFlags& flags) {
  const auto place = [placer = placer_, names = names_](const Graph& network,
                                                        const plan::ClusterProfile& cluster,
                                                        const std::set<int>& workers) {
    const size_t before = placer->changes();
    std::vector<int> placed = placer->place(network, cluster, workers);
    if (placer->changes() != before) {
      std::fputs(text_of(placer->latest(), names).c_str(), stderr);
    }
    return placed;
  };
  return open_client_devices(flags, place, names_.size());
}

// What this process computes, on all threads, is for frames: the decoders are processes of their
// own.
void PlacedStreams::note(const watch::FrameAnswer& answer) {
  const std::clock_t now = std::clock();
  const double seconds = static_cast<double>(now - std::exchange(last_, now)) / CLOCKS_PER_SEC;
  placer_->note(answer.source, answer.looked, seconds);
}

}  // namespace shoal::cli
