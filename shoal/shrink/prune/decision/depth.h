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

// The n residual blocks of means.network that the held-out loss misses least, one after the other.
// Fails as kDepth does; kUnsupported if there are fewer.
Result<std::vector<size_t>> least_missed_blocks(const Means& means, size_t count);

// A network without these residual blocks, which are located anew for each batch.
NetworkForBatch without_blocks(NetworkForBatch network, std::vector<size_t> blocks);

// All residual blocks, in ascending order of the held-out loss without that block alone. Evaluates
// one network per block, where choose_blocks() does so for each removal. Empty if there are none.
// Fails as the examples and the device do; kCancelled if the callbacks say so.
Result<std::vector<size_t>> blocks_by_loss(const Means& means);

// The removed blocks, as groups with nothing left. Pure.
std::vector<GroupLeft> removed_blocks(const Graph& graph, const std::vector<size_t>& blocks);

// The same number of blocks, drawn by the seed. Pure.
std::vector<size_t> drawn_blocks(const Graph& graph, size_t count, uint64_t seed);

}  // namespace shoal::shrink
