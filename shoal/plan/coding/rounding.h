// Rounding: how much two correct computations of a graph may differ.
#pragma once

#include "shoal/model/graph/graph.h"

namespace shoal::plan {

// A bound of the difference between any value of the graph and the same value computed in another
// order, by another instruction set or from decoded shares, relative to the largest element.
double rounding_bound(const Graph& graph);

}  // namespace shoal::plan
