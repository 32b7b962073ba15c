// Autodiff, Graph -> Graph: what a network computes, and after it the gradients of its loss; and
// networks that round their values but learn as if they did not.
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

// The network with the same values, in which each DequantizeLinear(QuantizeLinear(x)) of constant
// scale has a gradient. It is that of x, clamped to what the bytes can hold if there is one scale
// for all of it; otherwise that of x as it is. Fails only as a graph refuses nodes.
Result<Graph> straight_through(const Graph& network);

// Adds a value that is `value` up to rounding in f32, and has the gradient of `like`. Differences
// are rounded to 2^-30 of `unit`, a normal number. Fails as a graph refuses nodes. REQUIRES: both
// are f32 of one shape, and less than 2^33 units apart.
Result<ValueId> straight_through(Graph& graph, ValueId value, ValueId like, float unit);

}  // namespace shoal::train
