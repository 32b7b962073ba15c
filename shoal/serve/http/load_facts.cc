#include "shoal/serve/http/load_facts.h"

namespace shoal::serve {

Facts facts_of(const LoadResult& result, const LoadOptions& options) {
  const LatencyRecorder& answered = result.answered;
  return {{"model", options.model},
          {"clients", options.clients},
          {"seconds", result.seconds},
          {"answered", answered.count(), "answered"},
          {"refused", result.refused.count(), "refused"},
          {"failed", result.failed, "failed"},
          {"answered_per_s", static_cast<double>(answered.count()) / result.seconds, "per s", 1},
          {"mean_ms", answered.mean()},
          {"p50_ms", answered.quantile(0.5), "p50 ms", 3},
          {"p90_ms", answered.quantile(0.9), "p90 ms", 3},
          {"p99_ms", answered.quantile(0.99), "p99 ms", 3},
          {"max_ms", answered.max()},
          {"refusal_p99_ms", result.refused.quantile(0.99)}};
}

}  // namespace shoal::serve
