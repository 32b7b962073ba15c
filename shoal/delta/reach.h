// Reach: which tiles of its inputs a tile of a node's output reads, as the operator's record says
// (Operator::split). What has changed in an output follows from what has changed in the inputs:
//   changed(tile) = OR over all inputs, and over the tiles of each that the tile reads
// This is DeepMon's rule (huynh B.3.5) with tiles in place of pixels; padding never changes.
#pragma once

#include <span>
#include <vector>

#include "shoal/delta/tile_mask.h"
#include "shoal/graph/graph.h"
#include "shoal/ops/window.h"

namespace shoal::delta {

// Tiles of one input. A tile of the output in row r and column c reads rows[r] x columns[c] at
// most. Both are empty for an input that never changes.
struct Reach {
  std::vector<ops::Range> rows, columns;
};

// One per input of the node. An operator that cannot be split reads everything. REQUIRES: one grid
// per input; constants and inputs not given have none that is looked at.
std::vector<Reach> reach_of(const Graph& graph, const Node& node, std::span<const Grid> inputs,
                            const Grid& output);

// Sets the tiles of `output` that read a tile of `input` that is set.
void spread(const TileMask& input, const Reach& reach, TileMask& output);

}  // namespace shoal::delta
