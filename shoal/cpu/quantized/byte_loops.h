// Element-wise loops of quantised operators over the vectors of the instruction set in use. Bytes
// are u8, or i8 with `flip` 0x80, which makes u8 of them and adds 128 to their zero point.
#pragma once

#include <cstdint>

#include "shoal/cpu/quantized/requantize.h"

namespace shoal::cpu {

// One factor or term: real = scale * ((byte ^ flip) - zero_point).
struct ByteScale {
  float scale = 0;
  int32_t zero_point = 0;  // of the byte after the flip
  uint8_t flip = 0;
};

void quantize_bytes(const float* x, float scale, const Rounding& rounding, uint8_t* y, int64_t n);
void dequantize_bytes(const uint8_t* x, const ByteScale& how, float* y, int64_t n);

// y = a + b, both in units of y's scale.
void add_bytes(const uint8_t* a, const ByteScale& a_scale, const uint8_t* b,
               const ByteScale& b_scale, const Rounding& rounding, uint8_t* y, int64_t n);

// What DirectRows copies bytes by.
struct ByteCopier {
  uint8_t flip = 0;

  void copy(const uint8_t* from, int64_t n, uint8_t* to) const;
  // Up to four planes, four bytes to a pixel; those that no plane has are 0.
  void interleave(const uint8_t* from, int64_t plane, int64_t planes, int64_t pixels,
                  uint8_t* to) const;
};

}  // namespace shoal::cpu
