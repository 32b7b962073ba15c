// What RoiAlign and MaxRoiPool share: boxes of an image [n, c, h, w], pooled to [rois, c, oh, ow].
#pragma once

#include <optional>
#include <span>

#include "shoal/graph/graph.h"

namespace shoal::ops {

// Checks the image and the boxes, `columns` numbers each; gives the output type.
Result<TensorType> pooled_type(const Operand& image, const Operand& rois, int64_t columns,
                               int64_t height, int64_t width);

// Boxes and channels are independent; a box may lie anywhere in the image.
std::optional<Tile> split_rois(const Node& node, std::span<const Operand> inputs,
                               const Region& output);

}  // namespace shoal::ops
