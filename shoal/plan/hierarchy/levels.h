// Plans for many workers, by levels: a plan for a few workers is widened step by step to all of
// them. Takes seconds for a thousand workers, where make_plans() takes minutes and gigabytes.
#pragma once

#include <vector>

#include "shoal/plan/comparison/comparison.h"
#include "shoal/plan/search/choices.h"

namespace shoal::plan {

// Groups of similar workers: those that a plan may treat alike.

// Workers of one group differ by at most this factor in ability, memory, bandwidth and latency, and
// share one medium or have wires of their own.
inline constexpr double kSimilar = 1.1;

// Every worker that may be used is in one group. The group of the ablest worker comes first, and in
// each group the ablest worker.
std::vector<Choices::Group> similar_workers(const Choices& choices, const ClusterProfile& cluster);

// All workers, one of each group in turn: neighbours differ in their medium where they can.
std::vector<int> in_turn(const std::vector<Choices::Group>& groups);

// Teams: workers that answer requests together, each team by itself. Many small teams keep a large
// cluster busy, and a loss concerns one of them.

// Teams of `size` workers, similar ones together; what is left over makes up the last team. All
// workers of the groups are in one team each. REQUIRES: size > 0
std::vector<std::vector<int>> make_teams(const std::vector<Choices::Group>& groups, size_t size);

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
