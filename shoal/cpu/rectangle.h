// Rectangle: a part of a plane, as kernels compute it that can leave out the rest.
#pragma once

#include <cstdint>

#include "shoal/ops/window.h"

namespace shoal::cpu {

// Pixels of axes 2 and 3 of [n, c, h, w] and of the blocked layout [n, c / b, h, w, b].
struct Rectangle {
  ops::Range rows, columns;

  int64_t pixels() const { return rows.count() * columns.count(); }
};

}  // namespace shoal::cpu
