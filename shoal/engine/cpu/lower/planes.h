// Planes: a value that moves whole planes [h, w] of blocked images and does nothing else. Concat,
// Split, Slice, Gather, Transpose and Reshape are of this kind as long as they leave the last axes
// alone; a shuffle of channels is three of them. Lowering carries them out on the numbers of the
// planes. Nothing is moved until a layer needs the image, and then by one SelectChannels.
#pragma once

#include <optional>
#include <vector>

#include "shoal/engine/cpu/lower/lowering.h"

namespace shoal::cpu {

// Axes that a Slice cuts, none of them negative; empty if it names none, or if they are not
// constant.
std::vector<int64_t> sliced_axes(const Lowering& lowering, const Node& node);
inline constexpr size_t kSliceAxes = 3;  // the input that names them

// The planes of a blocked image [n, c, h, w], one after the other.
Planes planes_of_image(ValueId image, const Shape& shape);

// The planes of the outputs of a node; nothing if it does not only move planes, or if those of its
// inputs are not known.
std::optional<std::vector<Planes>> moved_planes(const Lowering& lowering, const Node& node);

// The channels of an image that is made of planes.
struct Selection {
  std::vector<ValueId> images;    // that they come from
  std::vector<int64_t> channels;  // of each of these
  std::vector<int64_t> from;      // as SelectChannels counts them
};

// The value as an image in blocks; nothing if it has another shape, or if its images take different
// channels.
std::optional<Selection> selection_of(const Lowering& lowering, const Planes& planes,
                                      const Shape& shape);

std::span<const LoweringRule> plane_rules();

}  // namespace shoal::cpu
