// Whether a graph computes with bytes.
#pragma once

#include "shoal/model/graph/graph.h"

namespace shoal::compress {

// The first node that reads a constant of bytes or makes bytes from reals; null where there is
// none. An image of bytes is neither. Valid as long as the graph.
const Node* quantised_node(const Graph& graph);

}  // namespace shoal::compress
