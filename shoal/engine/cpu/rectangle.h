// Rectangle: a part of a plane, for kernels that can leave out the rest.
#pragma once

#include <cstdint>

#include "shoal/model/ops/window.h"

namespace shoal::cpu {

// Pixels of axes 2 and 3 of [n, c, h, w] and of the blocked layout [n, c / b, h, w, b].
struct Rectangle {
  ops::Range rows, columns;

  int64_t pixels() const { return rows.count() * columns.count(); }
};

// Calls f(first, count) for each run of pixels that follow one another in a plane of this width:
// lines, or all of them at once if they are as long as the plane.
template <class F>
void for_each_line(const Rectangle& one, int64_t width, const F& f) {
  const bool is_wide = one.columns.count() == width;
  const int64_t lines = is_wide ? 1 : one.rows.count();
  const int64_t count = is_wide ? one.pixels() : one.columns.count();
  int64_t first = one.rows.begin * width + one.columns.begin;
  for (int64_t line = 0; line < lines; ++line, first += width) f(first, count);
}

}  // namespace shoal::cpu
