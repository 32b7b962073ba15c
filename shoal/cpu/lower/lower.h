// Lowering: the graph as the CPU computes it, with channels in blocks (blocked.h) wherever
// convolutions are, and between them as long as what lies there allows it.
#pragma once

#include <cstdint>

#include "shoal/graph/graph.h"

namespace shoal::cpu {

Result<Graph> lower(const Graph& graph, int64_t block);

}  // namespace shoal::cpu
