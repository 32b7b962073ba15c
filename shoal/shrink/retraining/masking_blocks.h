// Masking blocks: small networks that choose, batch by batch, which units of a group are masked
// (D-Pruner [Huynh 2018]).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/model/graph/graph.h"
#include "shoal/shrink/compress/units/groups.h"

namespace shoal::shrink {

// The prefix of the names of all blocks' weights.
inline constexpr std::string_view kMaskingBlock = "masking_block.";

struct MaskingOptions {
  double share = 0.2;        // of the units that are left, at least one of two, is masked
  uint64_t seed = 1;         // of the weights of the blocks
  bool shows_masks = false;  // as outputs after the network's
};

struct WithBlocks {
  Graph graph;
  std::vector<size_t> groups;  // that have a block, by number
  // With MaskingOptions::shows_masks, outputs 1 + 2i and 2 + 2i are the mask and the scores of
  // block i, both [1, units of the group].
};

// Adds one block per group. Products that read its units read them times the mask; the units `gone`
// are always masked. A group has no block if its first product does not have the batch in its first
// axis. Fails only as a graph refuses nodes. REQUIRES: the network has one output, and the groups
// are its own.
Result<WithBlocks> with_masking_blocks(const Graph& network, const compress::Groups& groups,
                                       std::span<const size_t> gone,
                                       const MaskingOptions& options = {});

}  // namespace shoal::shrink
