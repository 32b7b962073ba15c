// Parameters: the constants of a graph that training learns. parameters() of graph.h counts them.
#pragma once

#include "shoal/model/graph/graph.h"

namespace shoal {

// Whether this input of a node is learned: a float constant that it reads as weights. Scalars (an
// epsilon, the bounds of Clip) and measured inputs (statistic_inputs) are not. Reads only its
// arguments, so any thread may call it.
bool is_parameter(const Graph& graph, const Node& node, size_t input);

}  // namespace shoal
