#include "shoal/plan/comparison/comparison.h"

#include <algorithm>
#include <optional>

#include "shoal/plan/cost/plan_stats.h"

namespace shoal::plan {
namespace {

double busiest(const Prediction& plan) { return std::ranges::max(plan.timeline.compute_seconds); }

// Everything but computing that delays the answer: transfers, and idle time of the busiest worker.
double waits(const Prediction& plan) { return plan.timeline.seconds - busiest(plan); }

}  // namespace

Result<BestWorker> plan_for_best(const Graph& graph, const ClusterProfile& cluster,
                                 const std::vector<int>& excluded) {
  std::optional<BestWorker> best;
  for (int worker = 0; worker < std::ssize(cluster.workers); ++worker) {
    if (!cluster.workers[static_cast<size_t>(worker)].present) continue;
    if (std::ranges::find(excluded, worker) != excluded.end()) continue;
    SHOAL_ASSIGN(Prediction prediction, plan_for_one(graph, cluster, worker));
    const bool has_memory = fits(cluster, prediction);
    // A worker that has the memory beats all that have not.
    const bool is_better =
        !best || (has_memory != best->has_memory
                      ? has_memory
                      : prediction.timeline.seconds < best->plan.timeline.seconds);
    if (is_better) best = {std::move(prediction), has_memory};
  }
  if (!best) return invalid("all workers are excluded");
  return *std::move(best);
}

Result<Comparison> compare_plans(const Graph& graph, ClusterProfile cluster,
                                 const PlanOptions& options) {
  SHOAL_ASSIGN(std::vector<Prediction> plans, make_plans(graph, cluster, options));
  SHOAL_ASSIGN(BestWorker single, plan_for_best(graph, cluster, options.excluded));
  return Comparison{std::move(cluster), std::move(plans), std::move(single.plan),
                    single.has_memory};
}

Comparison with_measured(Comparison comparison, Timeline single, Timeline best) {
  const double wire_bytes = comparison.best().timeline.wire_bytes;
  comparison.plans[0].timeline = std::move(best);
  comparison.plans[0].timeline.wire_bytes = wire_bytes;
  comparison.single.timeline = std::move(single);
  return comparison;
}

PlanOptions without_spare(PlanOptions options, size_t workers) {
  for (int worker = static_cast<int>(workers) - 1; worker >= 0 && options.survive > 0; --worker) {
    if (std::ranges::find(options.excluded, worker) != options.excluded.end()) continue;
    options.excluded.push_back(worker);
    --options.survive;
  }
  options.survive = 0;
  return options;
}

Advice advise(const Comparison& comparison) {
  Advice advice{.use = Use::kAll,
                .used = workers_of(comparison.best().plan()).size(),
                .all = count_present(comparison.cluster)};
  if (advice.all == 1) {
    advice.use = Use::kOnlyWorker;
  } else if (!comparison.single_fits) {
    advice.use = Use::kTogether;
  } else if (advice.used == 1) {
    advice.use = Use::kOne;
    const auto several = std::ranges::find_if(comparison.plans, [](const Prediction& plan) {
      return workers_of(plan.plan()).size() > 1;
    });
    if (several != comparison.plans.end()) {
      advice.times_slower = several->timeline.seconds / comparison.best().timeline.seconds;
    }
  } else if (comparison.speedup() < kWorthwhileSpeedup) {
    // Redundancy may cost more than several workers gain, so a plan over several can lose to one.
    advice.use = Use::kNoGain;
  } else if (advice.used < advice.all) {
    advice.use = Use::kSome;
  }
  return advice;
}

Difference difference(const Prediction& other, const Prediction& best) {
  return {busiest(other) - busiest(best), waits(other) - waits(best)};
}

Status check_survival(size_t workers, size_t excluded, int survive) {
  // Callers may exclude more workers than exist, and the difference is unsigned.
  const size_t used = workers - std::min(workers, excluded);
  const auto losses = static_cast<size_t>(survive);
  if (losses == 0 || used > losses) return {};
  return invalid("to survive the loss of " + std::to_string(losses) + " takes " +
                 std::to_string(losses + 1) + " workers, and there are " + std::to_string(used));
}

}  // namespace shoal::plan
