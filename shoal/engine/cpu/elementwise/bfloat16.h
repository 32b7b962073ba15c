// Conversion of floats to bfloat16, which are kept as bits in uint16_t, and back.
#pragma once

#include <cstdint>

namespace shoal::cpu {

// Loops over n elements. x and y must not overlap.
using Narrow = void (*)(const float* x, uint16_t* y, int64_t n);
using Widen = void (*)(const uint16_t* x, float* y, int64_t n);

Narrow round_to_bfloat16();     // to nearest, ties to even
Narrow truncate_to_bfloat16();  // towards zero
Widen widen_bfloat16();         // exact

}  // namespace shoal::cpu
