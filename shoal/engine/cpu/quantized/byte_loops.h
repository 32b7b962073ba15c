// Element-wise loops of quantised operators over vectors of the instruction set in use. Bytes are
// u8, or i8 with `flip` 0x80, which turns them into u8 and adds 128 to their zero point.
// Thread-safe.
#pragma once

#include <cstdint>

#include "shoal/engine/cpu/quantized/requantize.h"

namespace shoal::cpu {

// One operand: real = scale * ((byte ^ flip) - zero_point).
struct ByteScale {
  float scale = 0;
  int32_t zero_point = 0;  // of the byte after the flip
  uint8_t flip = 0;
};

// quantize_bytes: y = round(x / scale) + zero point, clamped; a NaN gives 0. dequantize_bytes is
// the inverse.
void quantize_bytes(const float* x, float scale, const Rounding& rounding, uint8_t* y, int64_t n);
void dequantize_bytes(const uint8_t* x, const ByteScale& how, float* y, int64_t n);

// y = a + b. Scales of a and b are relative to that of y.
void add_bytes(const uint8_t* a, const ByteScale& a_scale, const uint8_t* b,
               const ByteScale& b_scale, const Rounding& rounding, uint8_t* y, int64_t n);

// y = table[x], a table of 256 bytes. x and y may be the same.
void lookup_bytes(const uint8_t* x, const uint8_t* table, uint8_t* y, int64_t n);

// Copier of bytes for DirectRows.
struct ByteCopier {
  uint8_t flip = 0;

  void copy(const uint8_t* from, int64_t n, uint8_t* to) const;
  // Up to four planes, four bytes to a pixel; those that no plane has are 0.
  void interleave(const uint8_t* from, int64_t plane, int64_t planes, int64_t pixels,
                  uint8_t* to) const;
};

}  // namespace shoal::cpu
