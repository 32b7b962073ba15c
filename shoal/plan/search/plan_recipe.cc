// Remaking a plan. The search takes seconds, its outcome is small, and the steps after it are
// deterministic: partial sums or clusters, narrow wire, protection. A store therefore keeps the
// outcome, and a coordinator repeats the steps. A stored outcome is untrusted input: each index and
// region is checked against the graph before anything is computed from it.
#include "shoal/plan/search/plan_recipe.h"

#include <algorithm>
#include <cmath>

#include "shoal/plan/coding/protect.h"
#include "shoal/plan/search/choices.h"

namespace shoal::plan {
namespace {

Status check(const Graph& graph, const std::vector<SumOfTerms>& sums) {
  for (const SumOfTerms& sum : sums) {
    const bool shares = !sum.shares.empty() && std::ranges::all_of(sum.shares, [](double share) {
      return std::isfinite(share) && share > 0;
    });
    if (sum.node >= graph.nodes().size() || !shares) return invalid("no such sum");
  }
  return {};
}

Status check(const Graph& graph, const std::vector<ClusteredLayer>& layers) {
  const auto is_known = [&](const ClusteredLayer& layer) {
    return layer.node < graph.nodes().size() && can_be_clustered(graph, graph.nodes()[layer.node]);
  };
  return std::ranges::all_of(layers, is_known) ? Status() : invalid("no such clusters");
}

// The graph that the plan is of.
Result<Graph> rewritten(const Graph& graph, const Origin& origin) {
  SHOAL_TRY(check(graph, origin.sums));
  SHOAL_TRY(check(graph, origin.clusters));
  if (!origin.sums.empty()) return with_partial_sums(graph, origin.sums);
  if (origin.clusters.empty()) return graph;
  SHOAL_ASSIGN(ClusteredGraph clustered, with_clusters(graph, origin.clusters));
  return std::move(clustered.graph);
}

bool lies_in(const Region& region, const Shape& shape) {
  if (region.begin.rank() != shape.rank() || region.end.rank() != shape.rank()) return false;
  for (size_t d = 0; d < shape.rank(); ++d) {
    const bool fits =
        0 <= region.begin[d] && region.begin[d] <= region.end[d] && region.end[d] <= shape[d];
    if (!fits) return false;
  }
  return true;
}

// Checks what verify() assumes of plans made in this process: ranges within the graph, pieces of
// values that are live, boxes within their shapes.
Status check(const Graph& graph, const Plan& plan) {
  if (plan.survives != 0 || !plan.codes.empty()) return invalid("it is protected already");
  for (const Segment& segment : plan.segments) {
    const auto [begin, end] = segment.nodes;
    if (begin >= end || end > graph.nodes().size()) return invalid("no such nodes");
    const std::vector<ValueId> live = live_after(graph, segment.nodes);
    for (const Task& task : segment.tasks) {
      for (const Piece& piece : task.outputs) {
        const bool is_known = std::ranges::find(live, piece.value) != live.end() &&
                              lies_in(piece.region, graph[piece.value].type.shape);
        if (!is_known) return invalid("no such piece");
      }
    }
  }
  return {};
}

}  // namespace

Result<Prediction> with_narrow_wire(const Prediction& prediction, const ClusterProfile& cluster,
                                    const WireOptions& wire) {
  SHOAL_ASSIGN(WiredPlan wired, with_wire_format(prediction.graph(), prediction.plan(),
                                                 prediction.schedule(), wire));
  if (wired.error == 0) return prediction;
  SHOAL_ASSIGN(ScheduledPlan scheduled, ScheduledPlan::make(wired.graph, std::move(wired.plan)));
  Prediction narrow = predict(prediction.name + ", " + std::string(name_of(wire.smallest)),
                              std::move(scheduled), cluster);
  narrow.error = wired.error;
  narrow.origin = prediction.origin;
  narrow.origin.narrow = true;
  return narrow;
}

Result<Prediction> with_protection(const Prediction& unprotected, const ClusterProfile& cluster,
                                   const PlanOptions& options, const std::vector<int>& workers,
                                   bool coded) {
  SHOAL_ASSIGN(Protected safe,
               protect(unprotected.graph(), unprotected.plan(), options.survive, workers, coded));
  safe.plan.wait_seconds = options.wait_seconds;
  const std::string ending = safe.plan.codes.empty() ? ", repeated" : ", coded";
  SHOAL_ASSIGN(ScheduledPlan scheduled, ScheduledPlan::make(safe.graph, std::move(safe.plan)));
  Prediction prediction = predict(unprotected.name + ending, std::move(scheduled), cluster);
  prediction.error = unprotected.error;
  prediction.origin = unprotected.origin;
  prediction.origin.coded = coded;
  return prediction;
}

std::vector<int> usable_workers(const Graph& graph, const ClusterProfile& cluster,
                                const PlanOptions& options) {
  std::vector<int> workers = Choices(graph, cluster, options.excluded).workers();
  // By number and not by ability: measured speeds vary, and a remade plan must be the same.
  std::ranges::sort(workers);
  return workers;
}

Result<Prediction> follow_recipe(const Graph& graph, const ClusterProfile& cluster,
                                 const PlanOptions& options, const Origin& origin) {
  SHOAL_ASSIGN(const Graph steps, rewritten(graph, origin));
  SHOAL_TRY(check(steps, origin.plan));
  SHOAL_TRY(verify(steps, origin.plan, static_cast<int>(cluster.workers.size())));
  SHOAL_ASSIGN(ScheduledPlan scheduled, ScheduledPlan::make(steps, origin.plan));
  Prediction prediction = predict(origin.name, std::move(scheduled), cluster);
  prediction.origin = origin;
  if (origin.narrow) {
    SHOAL_ASSIGN(prediction, with_narrow_wire(prediction, cluster, options.wire));
  }
  if (options.survive > 0) {
    SHOAL_ASSIGN(prediction,
                 with_protection(prediction, cluster, options,
                                 usable_workers(graph, cluster, options), origin.coded));
  }
  // The workers may have less memory than when the plan was stored.
  if (!fits(cluster, prediction))
    return Status(Code::kExhausted, "no worker has memory for its part");
  prediction.price = origin.price;
  return prediction;
}

}  // namespace shoal::plan
