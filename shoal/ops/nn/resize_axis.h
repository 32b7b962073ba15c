// How Resize samples one axis: where an output coordinate lies in the input, and which elements
// there, with which weights, make the output. Axes are independent, so an image is resized one axis
// after the other; a fast kernel needs no more than these tables either.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/graph/graph.h"

namespace shoal::ops {

// The attributes of a Resize, the same for all axes.
struct ResizeRule {
  enum class Mode { kNearest, kLinear, kCubic };
  enum class Coordinates {
    kHalfPixel,
    kHalfPixelSymmetric,
    kPytorchHalfPixel,
    kAlignCorners,
    kAsymmetric,
    kTfCropAndResize
  };
  enum class Nearest { kRoundPreferFloor, kRoundPreferCeil, kFloor, kCeil };

  Mode mode;
  Coordinates coordinates;
  Nearest nearest;
  bool antialias;
  bool exclude_outside;
  float cubic_a;
  float extrapolation_value;
};

// An axis of a whole tensor, and the part of it that this node computes from the part it has: both
// are the whole but in a tile.
struct ResizeAxis {
  int64_t in = 0;
  int64_t out = 0;
  double length = 0;  // what `out` was before it was rounded: scale * in, in general no integer
  double roi_begin = 0;
  double roi_end = 1;
  int64_t in_begin = 0;
  int64_t in_end = 0;
  int64_t out_begin = 0;
  int64_t out_end = 0;

  bool is_identity(const ResizeRule& rule) const;
};

// Output k of the part is the sum of weights[offsets[k] ... offsets[k + 1]) times the elements of
// the part from first[k] on; without weights it is the extrapolation value.
struct ResizeTaps {
  std::vector<int64_t> first;
  std::vector<size_t> offsets;
  std::vector<double> weights;
};

Result<ResizeRule> resize_rule(const Node& node);

// One per axis of input 0. Inputs 1 to 3 are constants: roi, scales, sizes.
Result<std::vector<ResizeAxis>> resize_axes(const Node& node, const ResizeRule& rule,
                                            std::span<const Operand> inputs);

ResizeTaps resize_taps(const ResizeRule& rule, const ResizeAxis& axis);

// For Tile.attributes: the node that computes the parts which the axes name.
Attributes resize_tile(const Node& node, std::span<const ResizeAxis> axes);

}  // namespace shoal::ops
