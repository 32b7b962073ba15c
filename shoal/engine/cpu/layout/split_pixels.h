// Tiles of operators of the blocked layout (Operator::split), which are of all channels.
#pragma once

#include <optional>
#include <span>

#include "shoal/model/graph/graph.h"

namespace shoal::cpu {

// The images, rows and columns of a region, axes 0, 2 and 3, with all of the other axes of `shape`.
Region of_all_channels(const Region& region, const Shape& shape);

// The tile of an operator that computes a pixel from the same pixel of its inputs; nothing if the
// region is not of all channels.
std::optional<Tile> split_pixels(const Node& node, std::span<const Operand> inputs,
                                 const Region& output);

}  // namespace shoal::cpu
