// What training learns of a graph; parameters() of graph.h counts it.
#pragma once

#include "shoal/graph/graph.h"

namespace shoal {

// Whether this input of a node is learned: a float constant that it reads as weights. Not scalars
// (an epsilon, the bounds of Clip), nor what is measured (statistic_inputs).
bool is_parameter(const Graph& graph, const Node& node, size_t input);

}  // namespace shoal
