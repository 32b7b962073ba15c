// Plans for many workers, by levels: a plan for a few workers is widened step by step to all of
// them. Takes seconds for a thousand workers, where make_plans() takes minutes and gigabytes.
#pragma once

#include <vector>

#include "shoal/plan/comparison/comparison.h"
#include "shoal/plan/search/choices.h"

namespace shoal::plan {

// Groups of similar workers, which a plan may treat alike.

// Workers of one group differ by at most this factor in ability, memory, bandwidth and latency, and
// share one medium or have dedicated wires.
inline constexpr double kSimilar = 1.1;

// Partitions the usable workers. The ablest worker's group comes first, and in each group the
// ablest worker.
std::vector<Choices::Group> similar_workers(const Choices& choices, const ClusterProfile& cluster);

// All workers, one of each group in turn, so that neighbours differ in their medium if possible.
std::vector<int> in_turn(const std::vector<Choices::Group>& groups);

// Teams: workers that answer requests together, each team by itself. Many small teams keep a large
// cluster busy, and a loss concerns one of them.

// Partitions the groups into teams of `size` similar workers; the last team may be smaller.
// REQUIRES: size > 0
std::vector<std::vector<int>> make_teams(const std::vector<Choices::Group>& groups, size_t size);

// Workers of the first level. Smaller clusters have no other level.
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

// Whether to prefer plans by levels: for many workers, if the options allow it.
bool should_plan_by_levels(const ClusterProfile& cluster, const PlanOptions& options);

}  // namespace shoal::plan
