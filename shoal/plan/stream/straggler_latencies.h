// What it saves to go on with the first answers that are enough, where one worker of each request
// is slow.
#pragma once

#include <cstddef>

#include "shoal/base/timing/latency_recorder.h"
#include "shoal/plan/search/planner.h"

namespace shoal::plan {

// Milliseconds of requests, one after the other.
struct StragglerLatencies {
  LatencyRecorder first;  // by the plan as it is
  LatencyRecorder all;    // if readers waited for all that is not lost
};
StragglerLatencies simulate_stragglers(const Prediction& plan, const ClusterProfile& cluster,
                                       size_t requests, const Stragglers& stragglers);

}  // namespace shoal::plan
