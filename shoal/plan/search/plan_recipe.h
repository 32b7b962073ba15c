// Plan recipe: the steps from a plan that the search found to the one that is carried out, and how
// to repeat them without the search.
#pragma once

#include <vector>

#include "shoal/plan/search/planner.h"

namespace shoal::plan {

// The plan with fewer bytes on the wire, or unchanged if nothing can be rounded.
Result<Prediction> with_narrow_wire(const Prediction& prediction, const ClusterProfile& cluster,
                                    const WireOptions& wire);

// Plans in which values travel in fewer bytes, as options.wire allows, in no particular order:
// `plans` with rounded messages, and others that pay once messages are short. make_plans() finds
// them, too; this is for callers that already have the plans without.
Result<std::vector<Prediction>> make_narrow_plans(const Graph& graph, const ClusterProfile& cluster,
                                                  const PlanOptions& options,
                                                  std::vector<Prediction> plans);

// The plan, protected against losses, using these workers.
Result<Prediction> with_protection(const Prediction& unprotected, const ClusterProfile& cluster,
                                   const PlanOptions& options, const std::vector<int>& workers,
                                   bool coded);

// Makes the plan again that `origin` describes, for the same graph, cluster and options. The origin
// may come from a file and is checked: a plan that is made computes what the graph does.
Result<Prediction> follow_recipe(const Graph& graph, const ClusterProfile& cluster,
                                 const PlanOptions& options, const Origin& origin);

// Workers that may be used, in the order in which they stand in for each other.
std::vector<int> usable_workers(const Graph& graph, const ClusterProfile& cluster,
                                const PlanOptions& options);

}  // namespace shoal::plan
