// Transposition of a large matrix, in squares so that both sides stay in the first-level cache:
// rows of the source are contiguous, and rows of the target collect 128 bytes before the square is
// left.
#include <algorithm>

#include "shoal/engine/cpu/movement/movement.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "shoal/engine/cpu/movement/transpose_matrix.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "shoal/engine/cpu/movement/transpose_block-inl.h"

HWY_BEFORE_NAMESPACE();
namespace shoal::cpu::HWY_NAMESPACE {
namespace {

constexpr int64_t kSide = 32;  // 32 x 32 floats are 4 KB on each side

// Four rows of the target at a time.
void transpose_strips(const float* from, int64_t from_stride, int64_t rows, int64_t columns,
                      float* to, int64_t to_stride) {
  constexpr int64_t kStrip = 4;
  for (int64_t c = 0; c < rows; c += kSide) {
    for (int64_t p = 0; p < columns; p += kStrip) {
      transpose_block(from + c * from_stride + p, from_stride, std::min(kSide, rows - c),
                      std::min(kStrip, columns - p), to + p * to_stride + c, to_stride);
    }
  }
}

void transpose_matrix_here(const float* from, int64_t from_stride, int64_t rows, int64_t columns,
                           float* to, int64_t to_stride) {
  // Rows of the target that are multiples of 2 KB apart compete for two sets of a cache of 8 ways,
  // too few for 32 of them.
  constexpr int64_t kCrowded = 512;
  if (to_stride % kCrowded == 0) {
    return transpose_strips(from, from_stride, rows, columns, to, to_stride);
  }
  for (int64_t p = 0; p < columns; p += kSide) {
    for (int64_t c = 0; c < rows; c += kSide) {
      transpose_block(from + c * from_stride + p, from_stride, std::min(kSide, rows - c),
                      std::min(kSide, columns - p), to + p * to_stride + c, to_stride);
    }
  }
}

}  // namespace
}  // namespace shoal::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace shoal::cpu {

HWY_EXPORT(transpose_matrix_here);

void transpose_matrix(const float* from, int64_t from_stride, int64_t rows, int64_t columns,
                      float* to, int64_t to_stride) {
  HWY_DYNAMIC_DISPATCH(transpose_matrix_here)(from, from_stride, rows, columns, to, to_stride);
}

}  // namespace shoal::cpu
#endif  // HWY_ONCE
