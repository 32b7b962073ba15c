// A closed loop: clients of which each sends its next request when the last one is answered.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <vector>

#include "shoal/base/status.h"

namespace shoal {

// The value that a `share` of the values does not exceed, by the nearest rank: 0.5 is the median.
// REQUIRES: `sorted` is, and is not empty; 0 <= share <= 1.
double percentile(const std::vector<double>& sorted, double share);

struct LoadReport {
  size_t requests = 0;
  double seconds = 0;  // from the first request to the last answer
  double requests_per_s = 0;
  double p50_ms = 0, p99_ms = 0;  // of the time from a request to its answer
};

// `latencies` in milliseconds, in any order.
LoadReport report_load(std::vector<double> latencies, double seconds);

// Lets `clients` threads call `request` again and again for so long, each at least once. All begin
// together. Fails as soon as a request does, with that status.
Result<LoadReport> run_closed_loop(size_t clients, std::chrono::duration<double> time,
                                   const std::function<Status()>& request);

}  // namespace shoal
