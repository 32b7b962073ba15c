// Straight-through rounding: a network that rounds its values learns as if it did not.
#pragma once

#include "shoal/base/status.h"
#include "shoal/graph/graph.h"

namespace shoal::train {

// The network with the same values, in which each DequantizeLinear(QuantizeLinear(x)) of constant
// scale has a gradient. It is that of x, clamped to what the bytes can hold if there is one scale
// for all of it; otherwise that of x as it is. Fails only as a graph refuses nodes.
Result<Graph> straight_through(const Graph& network);

}  // namespace shoal::train
