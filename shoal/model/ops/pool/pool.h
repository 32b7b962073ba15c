// The loops over windows that pools and their gradients share.
#pragma once

#include <array>
#include <cstdint>

#include "shoal/model/ops/window.h"

namespace shoal::ops {

using Position = std::array<int64_t, Window::kMaxRank>;  // the place of an output in its plane

// Calls f(offset in the input plane) for every tap of the output at `o` that is not padding.
template <class F>
void for_each_tap(const Window& window, const Position& o, F f) {
  const auto& [depth, row, column] = window.axes;
  const Range depths = depth.taps(o[0]), rows = row.taps(o[1]), columns = column.taps(o[2]);
  for (int64_t kd = depths.begin; kd < depths.end; ++kd) {
    for (int64_t kh = rows.begin; kh < rows.end; ++kh) {
      const int64_t line = depth.position(o[0], kd) * row.input + row.position(o[1], kh);
      for (int64_t kw = columns.begin; kw < columns.end; ++kw) {
        f(line * column.input + column.position(o[2], kw));
      }
    }
  }
}

// Calls f(offset of the plane in x, offset of the output in y, its position in the plane).
template <class F>
void for_each_output(const Window& window, const Shape& x, F f) {
  const auto& [depth, row, column] = window.axes;
  const int64_t plane = x.count(2, x.rank());
  int64_t y = 0;
  for (int64_t c = 0; c < x[0] * x[1]; ++c) {
    for (int64_t d = 0; d < depth.output; ++d) {
      for (int64_t h = 0; h < row.output; ++h) {
        for (int64_t w = 0; w < column.output; ++w) f(c * plane, y++, Position{d, h, w});
      }
    }
  }
}

}  // namespace shoal::ops
