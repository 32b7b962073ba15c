// Day: a day of requests to a cluster of any size whose workers are lost and join, in virtual time.
// The same seed gives the same day.
//
// The cluster is divided into teams of similar workers. Each team has its own coordinator, which
// plans, deploys, replays and refuses as a real one does; a request goes to the team that should
// answer it soonest.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "shoal/base/text/facts.h"
#include "shoal/base/timing/latency_recorder.h"
#include "shoal/model/graph/graph.h"
#include "shoal/plan/profile.h"

namespace shoal::chaos {

struct DayOptions {
  uint64_t seed = 1;
  double hours = 24;
  double requests_per_second = 10;  // on the average; at night a fifth of it, at noon nearly twice
  double losses = 2;                // of each worker, on the average of 24 hours
  double away_minutes = 10;         // until a lost worker joins again, on the average
  size_t team_size = 8;
  double timeout_seconds = 5;  // of a request
};

struct DayReport {
  uint64_t hash = 0;  // of all that happened
  size_t teams = 0;
  uint64_t requests = 0, answered = 0, refused = 0, failed = 0, replayed = 0;
  uint64_t losses = 0, joins = 0;
  uint64_t searches = 0, deployed = 0, restored = 0;  // plans
  LatencyRecorder latencies;                          // ms, of requests that were answered
};

// With the size of the cluster, and the time and the memory that the simulation took.
Facts facts_of(const DayReport& report, size_t workers, double seconds);
std::vector<std::string> lines_of(const DayReport& report, double seconds);

// `at` is called now and then with the part of the day that has passed. kInvalidArgument for
// invalid options; kExhausted if a team lacks the memory for the model.
Result<DayReport> simulate_day(const Graph& graph, const plan::ClusterProfile& cluster,
                               const DayOptions& options,
                               const std::function<void(double part)>& at = nullptr);

}  // namespace shoal::chaos
