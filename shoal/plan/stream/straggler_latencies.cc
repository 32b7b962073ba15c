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

Json to_json(const StragglerLatencies& latencies) {
  return {{"requests", latencies.first.count()},
          {"mean_ms", latencies.first.mean()},
          {"p50_ms", latencies.first.quantile(0.5)},
          {"p99_ms", latencies.first.quantile(0.99)},
          {"waiting_mean_ms", latencies.all.mean()},
          {"waiting_p50_ms", latencies.all.quantile(0.5)},
          {"waiting_p99_ms", latencies.all.quantile(0.99)}};
}

std::vector<Facts> rows_of(const StragglerLatencies& latencies, const std::string& model,
                           const std::string& plan) {
  const LatencyRecorder &first = latencies.first, &all = latencies.all;
  const auto row = [&](const std::string& of, const std::string& name, const char* how,
                       const auto& cell) -> Facts {
    return {shown("model", of),
            shown("plan", name),
            shown(" ", how),
            shown("mean ms", cell(first.mean(), all.mean())),
            shown("p50", cell(first.quantile(0.5), all.quantile(0.5))),
            shown("p99", cell(first.quantile(0.99), all.quantile(0.99)))};
  };
  return {row(model, plan, "waiting for all", [](double, double ms) { return fixed(ms, 1); }),
          row("", "", "first that are enough", [](double ms, double) { return fixed(ms, 1); }),
          row("", "", "less",
              [](double now, double before) { return fixed(100 * (1 - now / before), 0) + " %"; })};
}

}  // namespace shoal::plan
