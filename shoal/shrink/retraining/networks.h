// The networks of a run as functions of the batch, which differs between training, choosing and
// files.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/shrink/compress/units/groups.h"
#include "shoal/train/run/setup/training_network.h"

namespace shoal::shrink {

using fit::NetworkForBatch;
using Weights = std::map<std::string, Tensor>;

// The model as it was given. `model` outlives the result.
NetworkForBatch as_given(const Model& model);

// A network without units of its groups, which are found anew for each batch: unit numbers follow
// the order of values, and stay.
NetworkForBatch without(NetworkForBatch network, std::vector<size_t> units);

// A network with fresh weights, as train::with_initial_weights makes them.
NetworkForBatch with_fresh_weights(NetworkForBatch network, uint64_t seed);

// A network with these weights, by name.
NetworkForBatch with_weights(NetworkForBatch network, Weights weights);

// The same number of units of each group, drawn by the seed. Pure.
std::vector<size_t> drawn_instead(const compress::Groups& groups, const std::vector<size_t>& units,
                                  uint64_t seed);

}  // namespace shoal::shrink
