// Plans that use some of a cluster's workers and leave the others alone.
#pragma once

#include <set>

#include "shoal/plan/search/planner.h"

namespace shoal::plan {

// `options` for plans that use these workers only. Where they are too few to survive as many losses
// as the options ask for, the plans survive as many as they can: one fewer than there are workers.
PlanOptions for_workers(PlanOptions options, const std::set<int>& workers,
                        const ClusterProfile& cluster);

// The best of these plans.
Result<Prediction> make_plan_for(const std::set<int>& workers, const Graph& graph,
                                 const ClusterProfile& cluster, const PlanOptions& options);

}  // namespace shoal::plan
