// The steps from a plan that was searched for to the one that is carried out, and how to go them
// again without the search.
#pragma once

#include <vector>

#include "shoal/plan/search/planner.h"

namespace shoal::plan {

// With fewer bytes on the wire; as it is, without an error, where that changes nothing.
Result<Prediction> with_narrow_wire(const Prediction& made, const ClusterProfile& cluster,
                                    const WireOptions& wire);

// As one that survives; by these workers.
Result<Prediction> with_protection(const Prediction& made, const ClusterProfile& cluster,
                                   const PlanOptions& options, const std::vector<int>& workers,
                                   bool coded);

// A plan of the same graph for the same cluster and options, as it was before. What comes from a
// file is checked: whatever is made computes what the graph does.
Result<Prediction> remake(const Graph& graph, const ClusterProfile& cluster,
                          const PlanOptions& options, const Origin& origin);

// That may be used, in the order in which they stand in for each other.
std::vector<int> usable_workers(const Graph& graph, const ClusterProfile& cluster,
                                const PlanOptions& options);

}  // namespace shoal::plan
