// The parts that RoiAlign and MaxRoiPool share. Both pool boxes of an image [n, c, h, w] to [rois,
// c, oh, ow].
#pragma once

#include <optional>
#include <span>

#include "shoal/model/graph/graph.h"

namespace shoal::ops {

// Checks the image and the boxes, `columns` numbers each; gives the output type.
Result<TensorType> pooled_type(const Operand& image, const Operand& rois, int64_t columns,
                               int64_t height, int64_t width);

// Boxes and channels are cut; the image stays whole, since a box may lie anywhere in it.
std::optional<Tile> split_rois(const Node& node, std::span<const Operand> inputs,
                               const Region& output);

}  // namespace shoal::ops
