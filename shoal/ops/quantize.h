// What quantised operators share: real = scale * (integer - zero point).
#pragma once

#include <cmath>

#include "shoal/ops/convert.h"

namespace shoal::ops {

using Bytes = Types<int8_t, uint8_t>;

// The integer for a real number already divided by the scale: to the nearest, halves to the even,
// and within the range of Q.
template <class Q>
Q quantize(float scaled, int32_t zero_point) {
  return saturate<Q>(static_cast<double>(std::nearbyint(scaled)) + zero_point);
}

}  // namespace shoal::ops
