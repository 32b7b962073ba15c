// Autodiff, Graph -> Graph: a network followed by the gradients of its loss; and straight-through
// gradients for networks that round.
#pragma once

#include <span>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/model/graph/graph.h"

namespace shoal::train {

// An ordinary graph. Inputs: the network's, then the parameters that were constants there. Outputs:
// the network's, then one gradient per parameter, of the same type.
struct Differentiated {
  Graph graph;
  std::vector<ValueId> parameters;
  std::vector<ValueId> gradients;
};

// `loss` is one number; parameters are constants or inputs of the graph. Shoal's own operators
// become the ONNX ones they stand for. kUnsupported, naming them all, for operators without a
// gradient between a parameter and the loss. No gradient flows through values in `fixed`.
Result<Differentiated> differentiate(const Graph& graph, ValueId loss,
                                     std::span<const ValueId> parameters,
                                     std::span<const ValueId> fixed = {});

// The network with the same values, in which each DequantizeLinear(QuantizeLinear(x)) of constant
// scale has a gradient: that of x, clamped to the range of the bytes if there is one scale. Fails
// only as a graph refuses nodes.
Result<Graph> straight_through(const Graph& network);

// Adds a value equal to `value` up to f32 rounding, with the gradient of `like`. Differences are
// rounded to 2^-30 of `unit`, a normal number. Fails as a graph refuses nodes. REQUIRES: both are
// f32 of one shape, and less than 2^33 units apart.
Result<ValueId> straight_through(Graph& graph, ValueId value, ValueId like, float unit);

}  // namespace shoal::train
