// The order in which elements are sorted.
#pragma once

#include <cmath>
#include <type_traits>

#include "shoal/model/tensor/dtype.h"

namespace shoal::ops {

// A strict weak order, which sorting needs, also where there are NaNs: they come last, as in NumPy.
// So they are largest for TopK.
template <class T>
bool sorts_before(T a, T b) {
  using C = Compute<T>;
  const C x = a, y = b;
  if constexpr (std::is_floating_point_v<C>) {
    if (std::isnan(x)) return false;
    if (std::isnan(y)) return true;
  }
  return x < y;
}

}  // namespace shoal::ops
