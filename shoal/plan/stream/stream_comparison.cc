#include "shoal/plan/stream/stream_comparison.h"

#include <algorithm>

#include "shoal/base/text/number_text.h"
#include "shoal/plan/comparison/conclusion.h"

namespace shoal::plan {
namespace {

ClusterProfile with_enough_memory(ClusterProfile cluster) {
  for (WorkerProfile& worker : cluster.workers) {
    if (worker.present) worker.memory_bytes = WorkerProfile().memory_bytes;
  }
  return cluster;
}

}  // namespace

Result<StreamComparison> compare_streams(Graph graph, ClusterProfile cluster,
                                         const StreamOptions& options, bool forced) {
  SHOAL_ASSIGN(auto plans, make_stream_plans(graph, cluster, options));
  // The yardstick has no redundancy: one worker alone cannot survive its own loss.
  const StreamOptions alone{.stages = false, .replicas = false, .excluded = options.excluded};
  auto one = make_stream_plans(graph, cluster, alone);
  const bool single_fits = one.status().code() != Code::kExhausted;
  if (!single_fits) one = make_stream_plans(graph, with_enough_memory(cluster), alone);
  if (!one.ok()) return one.status();
  if (forced && plans.size() > 1) {
    std::erase_if(plans,
                  [](const StreamPrediction& plan) { return plan.name.starts_with("one worker"); });
  }
  return StreamComparison{std::move(graph), std::move(cluster), std::move(plans),
                          one->front().requests_per_second(), single_fits};
}

Advice advise(const StreamComparison& made) {
  const auto busy = std::ranges::count_if(made.best().stream.compute_seconds,
                                          [](double seconds) { return seconds > 0; });
  Advice advice{
      .use = Use::kAll, .used = static_cast<size_t>(busy), .all = count_present(made.cluster)};
  if (advice.all == 1) {
    advice.use = Use::kOnlyWorker;
  } else if (!made.single_fits) {
    advice.use = Use::kTogether;
  } else if (advice.used < advice.all) {
    // Before the gain: idle workers are the more specific advice.
    advice.use = Use::kSome;
  } else if (made.speedup() < kWorthwhileSpeedup) {
    advice.use = Use::kNoGain;
  }
  return advice;
}

Period period_of(const StreamPrediction& plan) {
  return {1 / plan.requests_per_second(),
          seconds_per_request(plan, std::ranges::max(plan.stream.compute_seconds)),
          seconds_per_request(plan, std::ranges::max(plan.stream.transfer_seconds))};
}

std::string why_slower(const StreamPrediction& plan) {
  const Period period = period_of(plan);
  return "its busiest worker computes " + fixed(1e3 * period.compute_seconds, 1) +
         " ms and its busiest link is in use " + fixed(1e3 * period.transfer_seconds, 1) +
         " ms for every request";
}

std::string advice_text(const StreamComparison& made) {
  return advice_text(advise(made),
                     "answers every " + fixed(1e3 / made.single_per_second, 1) + " ms");
}

double seconds_per_request(const StreamPrediction& plan, double seconds) {
  return seconds / static_cast<double>(plan.stream.answered.size());
}

std::string to_text(const StreamPrediction& plan) {
  std::string text;
  for (size_t t = 0; t < plan.turns.size(); ++t) {
    text += "turn " + std::to_string(t) + '\n' + to_text(plan.graph(), plan.turns[t].plan());
  }
  return text;
}

}  // namespace shoal::plan
