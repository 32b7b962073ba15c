// Requantisation: the epilogue of quantised operators, from 32-bit sums back to bytes.
#pragma once

#include <cstdint>

#include "shoal/engine/cpu/quantized/bytes.h"
#include "shoal/model/ops/quantized/quantize.h"

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
  // Zero point and bounds of the u8, before the flip back to i8.
  int32_t zero_point = 0;
  uint8_t low_byte = 0, high_byte = 0;
  uint8_t flip = 0;
  // Facts that save work: the bounds are those of u8, and rounded numbers fit into 32 bits.
  bool is_plain = false;
  bool fits = false;
};

// Epilogue of a sum: multiply by the channel's scale and round. With a residual, the sum of both is
// rounded a second time, as QLinearAdd does.
struct Requantize {
  Rounding own;
  float own_scale = 0;       // of the product, over that of the sum
  float residual_scale = 0;  // of the residual, over that of the sum
  int32_t residual_zero = 0;
  uint8_t residual_flip = 0;  // turns bytes of the residual into u8
  Rounding sum;
};

}  // namespace shoal::cpu
