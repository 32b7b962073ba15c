// Networks without residual blocks, and blocks drawn by chance for a control.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/shrink/prune/decision/decide.h"
#include "shoal/shrink/prune/result.h"
#include "shoal/shrink/retraining/networks.h"

namespace shoal::shrink {

// So many residual blocks of means.network, those that the loss on held-out examples misses least,
// one after the other. Fails as kDepth does, and with kUnsupported where there are fewer.
Result<std::vector<size_t>> least_missed_blocks(const Means& means, size_t count);

// A network without these of its residual blocks, which are found again for each batch.
NetworkForBatch without_blocks(NetworkForBatch network, std::vector<size_t> blocks);

// All residual blocks of the network, that which the loss on held-out examples misses least, if it
// alone is left out, first. Looks at as many networks as there are blocks, where choose_blocks()
// looks at as many for each that goes. Empty where there are none. Fails as the examples and the
// device do, and with kCancelled if the callbacks say so.
Result<std::vector<size_t>> blocks_by_loss(const Means& means);

// The removed blocks, as groups with nothing left. Pure.
std::vector<GroupLeft> removed_blocks(const Graph& graph, const std::vector<size_t>& blocks);

// As many blocks of the graph, but drawn by the seed. Pure.
std::vector<size_t> drawn_blocks(const Graph& graph, size_t count, uint64_t seed);

}  // namespace shoal::shrink
