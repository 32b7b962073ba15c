// Transposition in registers. Included once per instruction set, between the lines that open and
// close its namespace.
#if defined(SHOAL_CPU_TRANSPOSE_BLOCK_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef SHOAL_CPU_TRANSPOSE_BLOCK_INL_H
#undef SHOAL_CPU_TRANSPOSE_BLOCK_INL_H
#else
#define SHOAL_CPU_TRANSPOSE_BLOCK_INL_H
#endif

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace shoal::cpu::HWY_NAMESPACE {
namespace {

// to[p * to_stride + c] = from[c * from_stride + p] for c in [0, rows) and p in [0, columns), in
// blocks of four by four: 4 loads, 8 interleaves and 4 stores for 16 elements. Wider blocks would
// need shuffles across 16-byte lanes, which cost more.
HWY_INLINE void transpose_block(const float* HWY_RESTRICT from, int64_t from_stride, int64_t rows,
                                int64_t columns, float* HWY_RESTRICT to, int64_t to_stride) {
  namespace hn = hwy::HWY_NAMESPACE;
  int64_t c = 0;
#if HWY_TARGET != HWY_SCALAR
  const hn::CappedTag<float, 4> d;
  for (; c + 4 <= rows; c += 4) {
    const float* x = from + c * from_stride;
    int64_t p = 0;
    for (; p + 4 <= columns; p += 4) {
      const auto x0 = hn::LoadU(d, x + p), x1 = hn::LoadU(d, x + from_stride + p);
      const auto x2 = hn::LoadU(d, x + 2 * from_stride + p);
      const auto x3 = hn::LoadU(d, x + 3 * from_stride + p);
      const auto low02 = hn::InterleaveLower(d, x0, x2), low13 = hn::InterleaveLower(d, x1, x3);
      const auto high02 = hn::InterleaveUpper(d, x0, x2), high13 = hn::InterleaveUpper(d, x1, x3);
      float* y = to + p * to_stride + c;
      hn::StoreU(hn::InterleaveLower(d, low02, low13), d, y);
      hn::StoreU(hn::InterleaveUpper(d, low02, low13), d, y + to_stride);
      hn::StoreU(hn::InterleaveLower(d, high02, high13), d, y + 2 * to_stride);
      hn::StoreU(hn::InterleaveUpper(d, high02, high13), d, y + 3 * to_stride);
    }
    for (; p < columns; ++p) {
      for (int64_t i = 0; i < 4; ++i) to[p * to_stride + c + i] = x[i * from_stride + p];
    }
  }
#endif
  for (; c < rows; ++c) {
    for (int64_t p = 0; p < columns; ++p) to[p * to_stride + c] = from[c * from_stride + p];
  }
}

}  // namespace
}  // namespace shoal::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per target
