// Surviving plans: plans that survive the loss of workers, and their price.
#pragma once

#include <vector>

#include "shoal/plan/search/planner.h"

namespace shoal::plan {

// Upper bound on a protected plan's products, as a multiple of the unprotected plan's. Repeating
// everything takes 1 + losses.
inline double price_bound(int losses) { return 1 + 0.6 * losses; }

// Protected plans, the best first: plans for all workers, and for as many fewer as may be lost, the
// others computing parities. `options.survive` says how many. The best is the fastest within
// price_bound() if it is no slower than repeating everything, and otherwise the fastest of all.
Result<std::vector<Prediction>> make_surviving_plans(const Graph& graph,
                                                     const ClusterProfile& cluster,
                                                     const PlanOptions& options);

// Plans from a search that knows the price of protection: products split by channels where parities
// are cheaper than repeating rows. The time of repeated products counts `repeat_weight` times, so
// that plans with fewer of them are found, too. Not protected yet; empty if there are none.
Result<std::vector<Prediction>> find_protectable(const Graph& graph, const ClusterProfile& cluster,
                                                 const PlanOptions& options,
                                                 double repeat_weight = 1);

}  // namespace shoal::plan
