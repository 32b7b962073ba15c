// What it saves to go on with the first answers that are enough, where one worker of each request
// is slow.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "shoal/base/text/facts.h"
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

// Mean, p50 and p99 of both.
Json to_json(const StragglerLatencies& latencies);
// A row for waiting, one for the first that are enough, and what they save. Of a plan of this name
// for this model.
std::vector<Facts> rows_of(const StragglerLatencies& latencies, const std::string& model,
                           const std::string& plan);

}  // namespace shoal::plan
