#include "shoal/video/query/query_facts.h"

namespace shoal::query {

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
