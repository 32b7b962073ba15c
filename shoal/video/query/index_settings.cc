#include "shoal/video/query/index_settings.h"

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

}  // namespace shoal::query
