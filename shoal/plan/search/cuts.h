// Where a graph can be cut into segments.
#pragma once

#include <cstddef>
#include <vector>

#include "shoal/graph/graph.h"

namespace shoal::plan {

// Node indices at which nodes that follow read at most `most_live` values from before, weights and
// what only the next node reads apart: [0, ..., number of nodes]. One: a chain of segments. Two:
// inside of a residual block, too. No cut parts what is computed from weights from who reads it.
std::vector<size_t> find_cuts(const Graph& graph, size_t most_live);

// By value: the index after the last node that reads it; the number of nodes + 1 for answers.
std::vector<size_t> last_reads(const Graph& graph);

}  // namespace shoal::plan
