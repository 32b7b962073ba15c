// The sampling of one axis by Resize: where an output lies in the input, and the elements and
// weights that make it. Images are resized one axis after the other, so a kernel needs only these
// tables.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/model/graph/graph.h"

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

// An axis of a whole tensor, the part of it that this node has, and the part of the output that it
// computes. Both parts are the whole, except in a tile.
struct ResizeAxis {
  int64_t in = 0;
  int64_t out = 0;
  double length = 0;  // `out` before rounding: scale * in
  double roi_begin = 0;
  double roi_end = 1;
  int64_t in_begin = 0;
  int64_t in_end = 0;
  int64_t out_begin = 0;
  int64_t out_end = 0;

  bool is_identity(const ResizeRule& rule) const;
};

// Output k of the part is the sum of weights[offsets[k]] up to weights[offsets[k + 1] - 1], times
// the elements of the part from first[k] on. Without weights it is the extrapolation value.
struct ResizeTaps {
  std::vector<int64_t> first;
  std::vector<size_t> offsets;
  std::vector<double> weights;
};

Result<ResizeRule> resize_rule(const Node& node);

// One per axis of input 0. REQUIRES: inputs 1 to 3 (roi, scales, sizes) are constants where given.
Result<std::vector<ResizeAxis>> resize_axes(const Node& node, const ResizeRule& rule,
                                            std::span<const Operand> inputs);

// The weights of all outputs of the part. REQUIRES: resize_axes() has accepted the axis.
ResizeTaps resize_taps(const ResizeRule& rule, const ResizeAxis& axis);

// For Tile.attributes: the node that computes the parts which the axes name.
Attributes resize_tile(const Node& node, std::span<const ResizeAxis> axes);

}  // namespace shoal::ops
