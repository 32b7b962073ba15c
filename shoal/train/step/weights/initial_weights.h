// Initial weights.
#pragma once

#include <cstdint>

#include "shoal/base/status.h"
#include "shoal/model/graph/graph.h"

#pragma GCC visibility push(default)

namespace shoal::train {

// The network with fresh weights: those of products random, to keep a signal's energy through the
// layers (He et al. 2015 before a rectifier, else Glorot and Bengio 2010); biases zero; norms
// neutral. Other constants do not change. The same seed gives the same weights on every machine.
Result<Graph> with_initial_weights(const Graph& network, uint64_t seed);

// The network with another number of classes: its last product, with its bias, is replaced by a
// fresh one. kInvalidArgument if the network does not end in one.
Result<Graph> retargeted(const Graph& network, int64_t classes, uint64_t seed);

}  // namespace shoal::train

#pragma GCC visibility pop
