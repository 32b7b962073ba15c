// The inner loop of transpose.cc, compiled once per instruction set.
#pragma once

#include <cstdint>

namespace shoal::cpu {

// to[p * to_stride + c] = from[c * from_stride + p] for c in [0, rows) and p in [0, columns).
// Elements are only moved: anything of four bytes will do.
void transpose_matrix(const float* from, int64_t from_stride, int64_t rows, int64_t columns,
                      float* to, int64_t to_stride);

}  // namespace shoal::cpu
