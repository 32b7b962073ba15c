// A graph with other outputs.
#pragma once

#include <span>

#include "shoal/base/status.h"
#include "shoal/model/graph/graph.h"

namespace shoal::exits {

// The graph with these values as its outputs, and without what none of them needs. Names stay.
// REQUIRES: the values are of the graph.
Result<Graph> with_outputs(const Graph& graph, std::span<const ValueId> outputs);

}  // namespace shoal::exits
