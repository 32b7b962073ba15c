// Autodiff, Graph -> Graph: what a network computes, and after it the gradients of its loss.
#pragma once

#include <span>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/model/graph/graph.h"

namespace shoal::train {

// An ordinary graph, for passes to optimise and any device to run. Its inputs are those of the
// network and then the parameters that were constants there; its outputs are the network's and
// then one gradient per parameter, of the same type.
struct Differentiated {
  Graph graph;
  std::vector<ValueId> parameters;
  std::vector<ValueId> gradients;
};

// `loss` is one number; parameters are constants or inputs of the graph. Our own operators become
// the ONNX ones that they stand for. Refuses, naming them all, operators without a gradient between
// a parameter and the loss. Values in `fixed` have no gradient, as if they were given: what depends
// on parameters through them alone has none either.
Result<Differentiated> differentiate(const Graph& graph, ValueId loss,
                                     std::span<const ValueId> parameters,
                                     std::span<const ValueId> fixed = {});

}  // namespace shoal::train
