// Plans for many workers, by levels: a plan for a few workers is widened step by step to all of
// them. Takes seconds for a thousand workers, where make_plans() takes minutes and gigabytes.
#pragma once

#include <vector>

#include "shoal/plan/comparison/comparison.h"

namespace shoal::plan {

// Workers of the first level. With as many or fewer, there is nothing to widen.
inline constexpr size_t kFirstLevel = 8;

// The best plan of every level, the best first. Fails as make_plans() does, and with
// kInvalidArgument for options that need all workers at once: forced cuts, losses to survive, fewer
// bytes on the wire.
Result<std::vector<Prediction>> make_plans_by_levels(const Graph& graph,
                                                     const ClusterProfile& cluster,
                                                     const PlanOptions& options = {});

// As compare_plans(), with plans by levels.
Result<Comparison> compare_plans_by_levels(const Graph& graph, ClusterProfile cluster,
                                           const PlanOptions& options);

// Whether plans by levels are to be preferred: for many workers, where the options allow it.
bool should_plan_by_levels(const ClusterProfile& cluster, const PlanOptions& options);

}  // namespace shoal::plan
