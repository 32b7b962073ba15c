// A network for another input size, for convolutional networks whose files name one. Reshape
// targets that no longer fit get one dimension, usually cells, adjusted.
#pragma once

#include "shoal/base/status.h"
#include "shoal/model/graph/graph.h"
#include "shoal/model/tensor/tensor.h"

namespace shoal::detect {

// kInvalidArgument if the network has several inputs or an operator refuses its new input, such as
// a constant of a plane's size. The caller checks the results.
Result<Graph> resized_graph(const Graph& graph, const Shape& input);

}  // namespace shoal::detect
