#include "shoal/plan/search/subset.h"

#include <algorithm>

namespace shoal::plan {

PlanOptions for_workers(PlanOptions options, const std::set<int>& workers,
                        const ClusterProfile& cluster) {
  // A worker may be both outside of the set and excluded by the user; only usable ones can stand
  // in.
  const auto usable = std::ranges::count_if(workers, [&](int worker) {
    return cluster.workers[static_cast<size_t>(worker)].present &&
           std::ranges::find(options.excluded, worker) == options.excluded.end();
  });
  for (int w = 0; w < std::ssize(cluster.workers); ++w) {
    if (!workers.contains(w)) options.excluded.push_back(w);
  }
  options.survive = std::clamp(static_cast<int>(usable) - 1, 0, options.survive);
  return options;
}

Result<Prediction> make_plan_for(const std::set<int>& workers, const Graph& graph,
                                 const ClusterProfile& cluster, const PlanOptions& options) {
  SHOAL_ASSIGN(auto plans, make_plans(graph, cluster, for_workers(options, workers, cluster)));
  return std::move(plans.front());
}

}  // namespace shoal::plan
