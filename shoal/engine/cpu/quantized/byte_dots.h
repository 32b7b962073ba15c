// Dot products of rows of bytes, for matrix products whose right factor is transposed, as the
// weights of fully connected layers are. Weights are read once, in place.
#pragma once

#include <cstdint>

namespace shoal::cpu {

// Up to kMostRows rows of the left factor by rows of the right one. i8 comes from bytes ^ b_flip.
struct ByteDots {
  static constexpr int64_t kMostRows = 4;

  const uint8_t* a = nullptr;  // [rows][k], u8
  int64_t rows = 0;
  const uint8_t* b = nullptr;  // [columns][k], i8 once `b_flip` is flipped into it
  uint8_t b_flip = 0;
  int64_t k = 0;
  int32_t* sums = nullptr;  // [rows][sums_stride]
  int64_t sums_stride = 0;
  int32_t* b_sums = nullptr;  // [columns], of each row of b; null: not wanted
};

// Computes the columns [begin, end) of the sums. Thread-safe for disjoint columns. REQUIRES: 1 <=
// rows <= kMostRows.
void multiply_bytes(const ByteDots& dots, int64_t begin, int64_t end);

}  // namespace shoal::cpu
