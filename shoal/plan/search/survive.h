// Surviving plans: plans that survive the loss of workers, and their price.
#pragma once

#include <vector>

#include "shoal/plan/search/planner.h"

namespace shoal::plan {

// Protected plans, the best first: plans for all workers, and for as many fewer as may be lost, the
// others computing parities. `options.survive` says how many.
Result<std::vector<Prediction>> make_surviving_plans(const Graph& graph,
                                                     const ClusterProfile& cluster,
                                                     const PlanOptions& options);

// Plans from a search that knows the price of protection: products split by channels where parities
// are cheaper than repeating rows. Not protected yet; empty if there are none.
Result<std::vector<Prediction>> find_protectable(const Graph& graph, const ClusterProfile& cluster,
                                                 const PlanOptions& options);

}  // namespace shoal::plan
