// Which values of a graph training learns.
#pragma once

#include <vector>

#include "shoal/model/graph/graph.h"

namespace shoal::compress {

// Per value, whether it is a parameter of a node (model/graph/parameter.h). Pure.
std::vector<bool> learned_values(const Graph& graph);

}  // namespace shoal::compress
