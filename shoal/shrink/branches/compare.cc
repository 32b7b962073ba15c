#include "shoal/shrink/branches/compare.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include "shoal/model/passes/passes.h"
#include "shoal/plan/search/branches.h"
#include "shoal/plan/search/plan_recipe.h"
#include "shoal/train/step/weights/initial_weights.h"

namespace shoal::branch {
namespace {

std::vector<int> workers_in(const plan::ClusterProfile& cluster) {
  std::vector<int> workers;
  for (size_t w = 0; w < cluster.workers.size(); ++w) {
    if (cluster.workers[w].present) workers.push_back(static_cast<int>(w));
  }
  return workers;
}

// The network as a plan sees it. Where there are more branches than channels, several begin with
// the same weights, and passes would merge them: times are those of branches that have learned.
Result<Graph> as_learned(const Graph& branched) {
  SHOAL_ASSIGN(const Graph fresh, train::with_initial_weights(branched, 1));
  return passes::optimize(fresh);
}

Result<std::optional<plan::Prediction>> planned(const Graph& graph,
                                                const plan::ClusterProfile& cluster) {
  const std::optional<plan::Branches> branches = plan::find_branches(graph);
  if (!branches) return invalid("the network has no branches");
  return plan::plan_branches(graph, *branches, cluster, workers_in(cluster));
}

Result<std::optional<plan::Prediction>> planned(const Graph& graph, const BranchOptions& options,
                                                const plan::ClusterProfile& cluster) {
  SHOAL_ASSIGN(const Branched made, make_branches(graph, options));
  return plan_of(made.graph, cluster);
}

// By branch, each on the worker of its place.
Result<std::vector<double>> branch_seconds(const Graph& graph, const plan::ClusterProfile& cluster,
                                           const std::vector<int>& workers) {
  const std::optional<plan::Branches> branches = plan::find_branches(graph);
  if (!branches || branches->ends.size() != workers.size()) {
    return Status(Code::kUnsupported, "the network begins with branches of its own");
  }
  std::vector<double> seconds;
  for (size_t i = 0; i < workers.size(); ++i) {
    std::vector<plan::Piece> ends;
    for (ValueId id : branches->ends[i]) ends.push_back({id, Region::whole(graph[id].type.shape)});
    SHOAL_ASSIGN(const plan::Part part, plan::make_part(graph, {0, branches->join}, ends));
    const auto worker = static_cast<size_t>(workers[i]);
    seconds.push_back(plan::seconds_of(graph, part, cluster.workers[worker]));
  }
  return seconds;
}

Status too_large(const std::string& what) {
  return Status(Code::kExhausted, "no worker has the memory for " + what);
}

}  // namespace

Result<size_t> fewest_branches(const Graph& graph, const plan::ClusterProfile& cluster,
                               double fatten, size_t most) {
  SHOAL_ASSIGN(const Graph optimised, passes::optimize(graph));
  for (int worker : workers_in(cluster)) {
    SHOAL_ASSIGN(const plan::Prediction one, plan::plan_for_one(optimised, cluster, worker));
    if (plan::fits(cluster, one)) return size_t{1};
  }
  for (size_t branches = 2; branches <= std::min(most, kMostBranches); branches *= 2) {
    const BranchOptions options{.widths = equal_widths(branches), .fatten = fatten};
    SHOAL_ASSIGN(const auto made, planned(graph, options, cluster));
    if (made) return branches;
  }
  return too_large("one of " + std::to_string(most) + " branches");
}

Result<std::vector<double>> widths_for(const Graph& graph, const plan::ClusterProfile& cluster,
                                       double fatten) {
  SHOAL_ASSIGN(const Graph optimised, passes::optimize(graph));
  const plan::Part whole = plan::whole_part(optimised);
  const std::vector<int> workers = workers_in(cluster);
  std::vector<double> widths;
  for (int w : workers) {
    const auto& worker = cluster.workers[static_cast<size_t>(w)];
    widths.push_back(1 / std::sqrt(plan::seconds_of(optimised, whole, worker)));
  }
  if (widths.size() < 2) return invalid("branches need two workers");
  std::vector<double> best = widths;
  double soonest = std::numeric_limits<double>::infinity();
  constexpr int kRounds = 8;
  for (int round = 0; round < kRounds; ++round) {
    const BranchOptions options{.widths = widths, .fatten = fatten, .merge = Merge::kConcat};
    SHOAL_ASSIGN(const Branched made, make_branches(graph, options));
    SHOAL_ASSIGN(const Graph narrow, as_learned(made.graph));
    SHOAL_ASSIGN(const std::vector<double> seconds, branch_seconds(narrow, cluster, workers));
    const double longest = *std::ranges::max_element(seconds);
    if (longest < soonest) {
      soonest = longest;
      best = widths;
    }
    const double mean =
        std::accumulate(seconds.begin(), seconds.end(), 0.0) / static_cast<double>(seconds.size());
    for (size_t i = 0; i < widths.size(); ++i) widths[i] *= std::sqrt(mean / seconds[i]);
  }
  return best;
}

Result<std::optional<plan::Prediction>> plan_of(const Graph& branched,
                                                const plan::ClusterProfile& cluster,
                                                const plan::WireOptions& wire) {
  SHOAL_ASSIGN(const Graph optimised, as_learned(branched));
  SHOAL_ASSIGN(std::optional<plan::Prediction> made, planned(optimised, cluster));
  if (made && wire.smallest != plan::WireFormat::kF32) {
    SHOAL_ASSIGN(made, plan::with_narrow_wire(*made, cluster, wire));
  }
  return made;
}

Result<Comparison> compare(const Graph& graph, const Graph& branched,
                           const plan::ClusterProfile& cluster) {
  SHOAL_ASSIGN(std::optional<plan::Prediction> made, plan_of(branched, cluster));
  if (!made) return too_large("a branch");
  SHOAL_ASSIGN(const Graph whole, passes::optimize(graph));
  SHOAL_ASSIGN(std::vector<plan::Prediction> ordinary, plan::make_plans(whole, cluster));
  const size_t messages = made->schedule().transfers.size();
  return Comparison{*std::move(made), std::move(ordinary[0]), messages};
}

}  // namespace shoal::branch
