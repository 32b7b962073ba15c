// A network for another size of its input, as convolutional ones take it although their files name
// one. Targets of Reshape that no longer fit have a dimension, most often that of cells, made to
// fit.
#pragma once

#include "shoal/base/status.h"
#include "shoal/model/graph/graph.h"
#include "shoal/model/tensor/tensor.h"

namespace shoal::detect {

// kInvalidArgument where the network has several inputs or an operator refuses what it now reads,
// as where a constant has the size of a plane. What is computed is for the caller to check.
Result<Graph> resized_graph(const Graph& graph, const Shape& input);

}  // namespace shoal::detect
