// Cuts: the places where a graph can be cut into segments.
#pragma once

#include <cstddef>
#include <vector>

#include "shoal/model/graph/graph.h"

namespace shoal::plan {

// Node indices where at most `most_live` values from before are read later, not counting weights
// and values that only the next node reads: [0, ..., number of nodes]. With one live value,
// segments form a chain; with two, cuts inside of a residual block are found as well. No cut
// separates a node that reads only constants from the readers of its result. O(nodes log nodes).
std::vector<size_t> find_cuts(const Graph& graph, size_t most_live);

// By value: the index after the last node that reads it; the number of nodes + 1 for outputs.
std::vector<size_t> last_reads(const Graph& graph);

}  // namespace shoal::plan
