// The parts that float and quantised convolutions share: the sizes, the loop over one output plane,
// and the tile that computes a box of the output.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "shoal/model/graph/graph.h"
#include "shoal/model/ops/window.h"

namespace shoal::ops {

// x: [batch, groups * in_channels, spatial...], w: [groups * out_channels, in_channels, kernel...].
struct Convolution {
  int64_t batch = 0;
  int64_t groups = 1;
  int64_t in_channels = 0;   // per group
  int64_t out_channels = 0;  // per group
  Window window;

  int64_t input_plane() const;   // elements of one channel of x
  int64_t output_plane() const;  // elements of one channel of y
  int64_t taps() const;          // elements of one channel of one filter
  Shape output_shape() const { return window.output_shape(batch, groups * out_channels); }
};

// Checks `group` and the channels, and the window (window.h).
Result<Convolution> require_convolution(const Node& node, const Shape& x, const Shape& w);
Convolution convolution_of(const Node& node, const Shape& x,
                           const Shape& w);  // REQUIRES: it is accepted

// The Conv from y to x that a ConvTranspose node runs backwards: `input` of a window axis is an
// axis of y, `output` one of x. The weights are used unchanged. REQUIRES: the node is accepted.
Convolution transposed_convolution_of(const Node& node, const Shape& x, const Shape& w);

// A bias, if given, has one element per output channel.
Status require_bias(const Operand& bias, int64_t channels);

// The groups, of `each` channels, that a range of channels belongs to: one group or a part of it,
// or several whole ones. nullopt for parts of several groups, which `group` cannot express.
std::optional<Range> groups_of(Range channels, int64_t each);

// The settings after channels are removed: `group` counts the remaining groups, of `each` channels
// of x. nullopt if a row or column is removed, because windows reach over its neighbours.
std::optional<Settings> shrink_convolution(const Node& node, const Shape& x, const Remainder& left,
                                           int64_t each);

int64_t count_macs(const Convolution& convolution);  // the largest int64 if it overflows

// The part of a convolution that computes a box of its output.
struct ConvolutionTile {
  Region x;
  Region w;
  Range channels;  // of the output: bias, and scales per channel
  Attributes attributes;
};
std::optional<ConvolutionTile> split_convolution(const Node& node, const Shape& x, const Shape& w,
                                                 const Region& output);

// Adds weight * x to every output whose tap (kd, kh, kw) lies in the channel `x`.
template <class X, class Sum, class LoadX>
void accumulate_tap(const Window& window, std::array<int64_t, 3> tap, const X* x, Sum weight,
                    Sum* plane, LoadX load_x) {
  const auto& [depth, row, column] = window.axes;
  const auto [kd, kh, kw] = tap;
  const Range depths = depth.outputs(kd), rows = row.outputs(kh), columns = column.outputs(kw);
  for (int64_t d = depths.begin; d < depths.end; ++d) {
    for (int64_t h = rows.begin; h < rows.end; ++h) {
      Sum* to = plane + (d * row.output + h) * column.output;
      const int64_t line = depth.position(d, kd) * row.input + row.position(h, kh);
      // An index, not a pointer: where the window begins in the padding, the pointer would lie
      // before x.
      const int64_t from = line * column.input + column.position(0, kw);
      if (column.stride == 1) {  // the loop that vectorises
        for (int64_t i = columns.begin; i < columns.end; ++i) to[i] += weight * load_x(x[from + i]);
      } else {
        for (int64_t i = columns.begin; i < columns.end; ++i) {
          to[i] += weight * load_x(x[from + i * column.stride]);
        }
      }
    }
  }
}

// Adds to `plane`, one channel of one image of the output, the filter `w` applied to the channels
// of its group, which start at `x`. The loads turn elements into Sum and subtract zero points;
// padding is zero after them.
template <class X, class W, class Sum, class LoadX, class LoadW>
void convolve(const Convolution& convolution, const X* x, const W* w, Sum* plane, LoadX load_x,
              LoadW load_w) {
  const auto& [depth, row, column] = convolution.window.axes;
  for (int64_t c = 0; c < convolution.in_channels; ++c, x += convolution.input_plane()) {
    for (int64_t kd = 0; kd < depth.kernel; ++kd) {
      for (int64_t kh = 0; kh < row.kernel; ++kh) {
        for (int64_t kw = 0; kw < column.kernel; ++kw) {
          const Sum weight = load_w(*w++);
          accumulate_tap(convolution.window, {kd, kh, kw}, x, weight, plane, load_x);
        }
      }
    }
  }
}

}  // namespace shoal::ops
