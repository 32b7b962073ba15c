#include "shoal/plan/comparison/comparison_summary.h"

#include "shoal/plan/comparison/conclusion.h"
#include "shoal/plan/cost/plan_stats.h"
#include "shoal/plan/search/find_clusters.h"

namespace shoal::plan {
namespace {

SegmentSummary summary_of(const Graph& graph, const Segment& segment) {
  SegmentSummary summary{.split = segment.split, .nodes = {}, .workers = {}};
  for (size_t n = segment.nodes.begin; n < segment.nodes.end; ++n) {
    summary.nodes.push_back(place_of(graph, graph.nodes()[n]));
  }
  for (const Task& task : segment.tasks) summary.workers.push_back(task.worker);
  return summary;
}

PriceSummary summary_of(const Price& price, size_t codes) {
  return {.unprotected_seconds = price.unprotected_seconds,
          .repeated_seconds = price.repeated_seconds,
          .compute = price.compute,
          .repeated_compute = price.repeated_compute,
          .wire_bytes = price.wire_bytes,
          .memory_bytes = price.memory_bytes,
          .codes = codes,
          .bounded_seconds = price.bounded_seconds,
          .bounded_compute = price.bounded_compute};
}

}  // namespace

Summary summarize(const Comparison& comparison) {
  const Prediction& best = comparison.best();
  Summary summary{.kind = best.name,
                  .seconds = best.timeline.seconds,
                  .single_seconds = comparison.single.timeline.seconds,
                  .wire_bytes = best.timeline.wire_bytes,
                  .halo_bytes = halo_bytes(best.graph(), best.plan(), best.schedule()),
                  .messages = best.schedule().transfers.size(),
                  .error = best.error,
                  .survives = best.plan().survives,
                  .workers = {},
                  .advice = advice_text(comparison),
                  .text = to_text(best.graph(), best.plan())};
  const size_t workers = comparison.cluster.workers.size();
  const auto memory = memory_bytes(best.graph(), best.plan(), best.schedule(), workers);
  for (size_t w = 0; w < workers; ++w) {
    summary.workers.push_back({comparison.cluster.workers[w].name, best.timeline.compute_seconds[w],
                               best.timeline.transfer_seconds[w], memory[w]});
  }
  for (const Segment& segment : best.plan().segments) {
    summary.segments.push_back(summary_of(best.graph(), segment));
  }
  for (const Prediction& plan : comparison.plans) {
    const bool is_best = summary.kinds.empty();
    summary.kinds.push_back(
        {plan.name, plan.timeline.seconds, is_best ? "" : why_slower(comparison, plan)});
  }
  if (!best.origin.clusters.empty()) {
    summary.clusters = {cluster_bytes(best.graph(), best.plan(), best.schedule()),
                        best.origin.dense_bytes};
  }
  if (best.plan().survives > 0) summary.price = summary_of(best.price, best.plan().codes.size());
  return summary;
}

}  // namespace shoal::plan
