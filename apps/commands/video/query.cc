#include "apps/commands/video/query.h"

namespace shoal::query {

SettingList settings_of(VideoIndexOptions& options) {
  return {
      Setting("every", options.every, "It sees one of so many frames").in(1, 1'000'000),
      Setting("labels", options.k, "Labels of each exit, where --expensive does not choose")
          .in(1, 1000),
      Setting("distance", options.clusters.distance, "Squared, between frames of a cluster")
          .in(0, 4),
      Setting("frames", options.frames, "Only the first N frames; 0: all").also("limit"),
  };
}

Json to_json(const VideoIndex& made) {
  return {{"frames", made.index.frames},
          {"entries", made.entries},
          {"clusters", made.index.clusters.size()},
          {"k", made.labels.k},
          {"exits", made.labels.exits},
          {"thresholds", made.index.thresholds},
          {"seconds", made.seconds}};
}

Json to_json(const AskResult& found, int64_t label, double seconds) {
  return {{"class", label},       {"frames", found.frames},     {"clusters", found.clusters},
          {"calls", found.calls}, {"accepted", found.accepted}, {"rejected", found.rejected},
          {"seconds", seconds}};
}

}  // namespace shoal::query
