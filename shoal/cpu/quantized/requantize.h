// From 32-bit sums back to bytes, as the kernels of quantised operators do it at their end.
#pragma once

#include <cstdint>

#include "shoal/cpu/quantized/bytes.h"
#include "shoal/ops/quantized/quantize.h"

namespace shoal::cpu {

// y = clamp(round(real) + zero_point) for a real number in units of the result's scale.
struct Rounding {
  Rounding() = default;
  Rounding(const ops::Bounds& bounds, int32_t zero, DType dtype)
      : low(static_cast<float>(bounds.low - zero)),
        high(static_cast<float>(bounds.high - zero)),
        zero_point(zero + flip_of(dtype)),
        low_byte(static_cast<uint8_t>(bounds.low + flip_of(dtype))),
        high_byte(static_cast<uint8_t>(bounds.high + flip_of(dtype))),
        flip(flip_of(dtype)),
        is_plain(bounds == ops::bounds_of_type(DType::kU8)) {}

  float low = 0, high = 0;  // before the zero point is added
  // Of the u8 that the result is before the flip.
  int32_t zero_point = 0;
  uint8_t low_byte = 0, high_byte = 0;
  uint8_t flip = 0;
  // What saves work where it is known: u8 without other bounds than its own, and numbers that fit
  // into 32 bits once they are rounded.
  bool is_plain = false;
  bool fits = false;
};

// What is done to a sum: times the channel's scale and rounded; then, where there is a residual,
// the sum with it is rounded in its turn, as QLinearAdd does.
struct Requantize {
  Rounding own;
  float own_scale = 0;       // of the product, over that of the sum
  float residual_scale = 0;  // of the residual, over that of the sum
  int32_t residual_zero = 0;
  uint8_t residual_flip = 0;  // what makes a u8 of the residual's bytes
  Rounding sum;
};

}  // namespace shoal::cpu
