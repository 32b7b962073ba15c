#include "shoal/plan/stream/straggler_latencies.h"

#include <span>

namespace shoal::plan {

StragglerLatencies simulate_stragglers(const Prediction& plan, const ClusterProfile& cluster,
                                       size_t requests, const Stragglers& stragglers) {
  constexpr double kForEver = 1e9;  // seconds
  const auto run = [&](double wait) {
    const ScheduledPlan turn = plan.scheduled.with_wait(wait);
    const Stream stream = simulate_stream(std::span(&turn, 1), cluster, requests, 1, stragglers);
    LatencyRecorder latencies;
    for (double seconds : stream.latencies) latencies.add(1e3 * seconds);
    return latencies;
  };
  return {run(plan.plan().wait_seconds), run(kForEver)};
}

}  // namespace shoal::plan
