// Straight-through rounding: a network that rounds its values learns as if it did not.
#pragma once

#include "shoal/base/status.h"
#include "shoal/model/graph/graph.h"

namespace shoal::train {

// The network with the same values, in which each DequantizeLinear(QuantizeLinear(x)) of constant
// scale has a gradient. It is that of x, clamped to what the bytes can hold if there is one scale
// for all of it; otherwise that of x as it is. Fails only as a graph refuses nodes.
Result<Graph> straight_through(const Graph& network);

// Adds a value that is `value` up to rounding in f32, and has the gradient of `like`. Differences
// are rounded to 2^-30 of `unit`, a normal number. Fails as a graph refuses nodes. REQUIRES: both
// are f32 of one shape, and less than 2^33 units apart.
Result<ValueId> straight_through(Graph& graph, ValueId value, ValueId like, float unit);

}  // namespace shoal::train
