// Branches: parts of a graph that share only its inputs until they are joined, as in networks
// designed for little communication [Hadidi 2021, 5.1]. Each branch is computed by one worker, what
// joins them by one of these workers: N branches on N workers take N messages with the input, N - 1
// with what the branches give, and one with the answer. Nothing else travels.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "shoal/plan/search/planner.h"

namespace shoal::plan {

struct Branches {
  size_t join = 0;                         // the first node that is after all branches
  std::vector<std::vector<ValueId>> ends;  // by branch: its values that are read from there on
};

// The most branches that the graph has side by side, joined as late as possible. nullopt if there
// are fewer than two. O(nodes).
std::optional<Branches> find_branches(const Graph& graph);

// Assigns branches by descending work, each to the worker with enough memory that would end it
// first. nullopt if a branch finds no worker. REQUIRES: `branches` are of the graph, and there is a
// worker.
Result<std::optional<Prediction>> plan_branches(const Graph& graph, const Branches& branches,
                                                const ClusterProfile& cluster,
                                                const std::vector<int>& workers);

}  // namespace shoal::plan
