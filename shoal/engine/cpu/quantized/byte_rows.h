// Pools over one block of channels of bytes (blocked.h). Bytes are u8, or i8 with `flip` 0x80,
// which turns them into u8 of the same order.
#pragma once

#include <cstdint>

#include "shoal/model/ops/window.h"

namespace shoal::cpu {

// Rows [begin, end) of one block of one image.
struct ByteRows {
  const ops::WindowAxis* rows = nullptr;
  const ops::WindowAxis* columns = nullptr;
  const uint8_t* x = nullptr;  // the whole block: [rows][columns][b]
  uint8_t* y = nullptr;        // the whole block
  uint8_t flip = 0;
  int64_t begin = 0, end = 0;
};

void max_bytes(const ByteRows& rows);

// sums = sum of (byte ^ flip) - zero_point over `pixels` neighbours; sums are [b]. REQUIRES: pixels
// < 2^23, so that sums fit into 32 bits.
void sum_bytes(const uint8_t* x, uint8_t flip, int32_t zero_point, int64_t pixels, int32_t* sums);

}  // namespace shoal::cpu
