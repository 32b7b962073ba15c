// Window: the geometry that convolutions and pools share. A kernel slides over the spatial axes of
// [n, c, spatial...]; attributes of ONNX say its strides, dilations and pads. Channels, groups and
// elements play no part.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "shoal/model/graph/graph.h"

namespace shoal::ops {

// A half-open range of indices, never with end < begin.
struct Range {
  int64_t begin = 0;
  int64_t end = 0;
  int64_t count() const { return end - begin; }
};

// One spatial axis. Output o meets tap k of the kernel at position(o, k) of the input; positions
// outside [0, input) are padding.
struct WindowAxis {
  int64_t input = 1;
  int64_t kernel = 1;
  int64_t stride = 1;
  int64_t dilation = 1;
  int64_t pad_begin = 0;
  int64_t pad_end = 0;
  int64_t output = 1;

  int64_t position(int64_t o, int64_t k) const { return o * stride - pad_begin + k * dilation; }
  int64_t extent() const { return (kernel - 1) * dilation + 1; }  // first tap to last, inclusive

  Range taps(int64_t o) const;  // the taps of output o that lie in the input
  // The taps of output o on the input or its padding. With ceil_mode the last window may reach
  // beyond both.
  int64_t padded_taps(int64_t o) const;
  Range outputs(int64_t k) const;  // the outputs whose tap k lies in the input
};

struct Window {
  static constexpr size_t kMaxRank = 3;

  size_t rank = 0;
  // The node's axes are the last `rank`; those before are one wide, so that every loop may be
  // written once: over depth, rows and columns.
  std::array<WindowAxis, kMaxRank> axes;

  std::span<const WindowAxis> spatial() const { return std::span(axes).last(rank); }
  Shape output_shape(int64_t batch, int64_t channels) const;
};

// A list attribute of `count` elements from `low` to the largest dimension; all are `fallback` if
// it is absent or empty.
Result<std::vector<int64_t>> require_list(const Node& node, std::string_view name, size_t count,
                                          int64_t low, int64_t fallback);

// Batch, channels, and one to three spatial axes.
Status require_spatial(const Shape& x);

// The kernel of the weights w, [m, c, spatial...], which kernel_shape may repeat.
Result<std::vector<int64_t>> require_kernel(const Node& node, const Shape& x, const Shape& w);

// The window of a pool: reads kernel_shape, strides, dilations, pads, auto_pad and ceil_mode for
// the input x, [n, c, spatial...], and refuses values that contradict each other or overflow.
Result<Window> require_window(const Node& node, const Shape& x);

// The window of a convolution: the kernel is that of the weights.
Result<Window> require_window(const Node& node, const Shape& x, const Shape& w);

// The same windows. REQUIRES: `infer` has accepted the node with these shapes.
Window window_of(const Node& node, const Shape& x);
Window window_of(const Node& node, const Shape& x, const Shape& w);

// The part of the input that a box of the output reads: the box of x, cut at its border, and the
// pads that replace the part cut off. Axis 0 is that of the output. Axis 1 is whole, because only
// the operator knows which channels it reads.
struct ReceptiveField {
  Region x;
  std::vector<int64_t> pads;  // as the attribute has them: all begins, then all ends
};
ReceptiveField receptive_field(const Window& window, const Shape& x, const Region& output);

// The node's attributes in a tile: explicit pads instead of auto_pad.
Attributes attributes_in_tile(const Node& node, const ReceptiveField& field);

}  // namespace shoal::ops
