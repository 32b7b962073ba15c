// Lowering: rewrites a graph for the CPU, with channels in blocks (blocked.h) wherever convolutions
// are, and between them as far as the layers there allow it.
#pragma once

#include <cstdint>

#include "shoal/model/graph/graph.h"

namespace shoal::cpu {

// Returns the lowered graph, which computes the same outputs from the same inputs; both stay plain.
// `block` is the number of channels in a block.
Result<Graph> lower(const Graph& graph, int64_t block);

}  // namespace shoal::cpu
