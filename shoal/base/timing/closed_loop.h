// A closed loop: each client sends its next request when the last one is answered.
#pragma once

#include <chrono>
#include <functional>

#include "shoal/base/status.h"
#include "shoal/base/timing/latency_recorder.h"

namespace shoal {

struct LoadReport {
  LatencyRecorder latencies;  // from a request to its answer
  double seconds = 0;         // from the first request to the last answer

  double requests_per_s() const { return static_cast<double>(latencies.count()) / seconds; }
};

// Lets `clients` threads call `request` repeatedly for `time`, each at least once. All begin
// together. Fails as soon as a request does, with that status.
Result<LoadReport> run_closed_loop(size_t clients, std::chrono::duration<double> time,
                                   const std::function<Status()>& request);

// One client, on the caller's thread: calls `request` for `time`, at least three times so that
// there is a median. `progress`, if given, gets the seconds passed after each.
Result<LatencyRecorder> time_runs(std::chrono::duration<double> time,
                                  const std::function<Status()>& request,
                                  const std::function<void(double seconds)>& progress = nullptr);

}  // namespace shoal
