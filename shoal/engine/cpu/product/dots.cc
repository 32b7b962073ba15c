// Matrix-vector products. Every weight is read once and used for one multiply-accumulate per row of
// x, so 4 bytes are read per MAC at m = 1 and memory bandwidth is the limit; the loops only have to
// keep enough loads in flight. dot_rows() has k contiguous: kW rows of w by kX rows of x are kW *
// kX vector accumulators, whose lanes are added at the end. add_rows() has n contiguous: eight rows
// of w are added to y per pass, so that y is read and written once for eight rows.
#include <algorithm>

#include "shoal/engine/cpu/product/product.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "shoal/engine/cpu/product/dots.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace shoal::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

constexpr int64_t kLanes = HWY_LANES(float);
// Rows of w that are read side by side, and rows of x that each of their vectors meets. The rows
// lie far apart, in kW equal parts of the range: that many sequential streams are what the hardware
// prefetchers, and so memory, are fastest with.
constexpr int kW = 4;
constexpr int kX = 2;
// Elements of k per pass for several rows of x: kW rows of w, 16 KB, stay in the first-level cache
// until the last row of x has met them.
constexpr int64_t kDepth = 1024;

// Adds to y the products of kRows rows of x and kColumns rows of w, `apart` rows from one to the
// next, over k elements. The first pass overwrites y, which is not initialised.
template <int kRows, int kColumns>
HWY_INLINE void dot_tile(const Dots& dots, const float* HWY_RESTRICT x, const float* HWY_RESTRICT w,
                         int64_t apart, int64_t k, bool first, float* y) {
  const D d;
  V sum[kRows][kColumns];
  for (int r = 0; r < kRows; ++r) {
    for (int c = 0; c < kColumns; ++c) sum[r][c] = hn::Zero(d);
  }
  int64_t p = 0;
  for (; p + kLanes <= k; p += kLanes) {
    V a[kRows];
    for (int r = 0; r < kRows; ++r) a[r] = hn::LoadU(d, x + r * dots.x_stride + p);
    for (int c = 0; c < kColumns; ++c) {
      const V b = hn::LoadU(d, w + c * apart * dots.k + p);
      for (int r = 0; r < kRows; ++r) sum[r][c] = hn::MulAdd(a[r], b, sum[r][c]);
    }
  }
  for (int r = 0; r < kRows; ++r) {
    for (int c = 0; c < kColumns; ++c) {
      float total = hn::GetLane(hn::SumOfLanes(d, sum[r][c]));
      for (int64_t q = p; q < k; ++q) {
        total += x[r * dots.x_stride + q] * w[c * apart * dots.k + q];
      }
      float& to = y[r * dots.y_stride + c * apart];
      to = first ? total : to + total;
    }
  }
}

template <int kColumns>
void dot_columns(const Dots& dots, int64_t j, int64_t apart) {
  // A single row of x has no use for w in a cache: one pass, and one sum of lanes per output. The
  // loop runs once for k = 0 as well, to store zeros.
  const int64_t pass = dots.m == 1 ? std::max<int64_t>(dots.k, 1) : kDepth;
  for (int64_t p = 0; p < dots.k || p == 0; p += pass) {
    const int64_t depth = std::min(pass, dots.k - p);
    const float* w = dots.w + j * dots.k + p;
    int64_t i = 0;
    for (; i + kX <= dots.m; i += kX) {
      dot_tile<kX, kColumns>(dots, dots.x + i * dots.x_stride + p, w, apart, depth, p == 0,
                             dots.y + i * dots.y_stride + j);
    }
    for (; i < dots.m; ++i) {
      dot_tile<1, kColumns>(dots, dots.x + i * dots.x_stride + p, w, apart, depth, p == 0,
                            dots.y + i * dots.y_stride + j);
    }
  }
}

void dot_rows_here(const Dots& dots, int64_t begin, int64_t end) {
  // Up to kW - 1 rows remain at the end.
  const int64_t apart = (end - begin) / kW;
  for (int64_t j = begin; j < begin + apart; ++j) dot_columns<kW>(dots, j, apart);
  for (int64_t j = begin + kW * apart; j < end; ++j) dot_columns<1>(dots, j, 0);
}

// y[0..n) (+)= sum over kRows rows of w, n floats of each, `stride` apart.
template <int kRows>
HWY_INLINE void add_some_rows(const float* HWY_RESTRICT x, const float* HWY_RESTRICT w,
                              int64_t stride, int64_t n, float* HWY_RESTRICT y) {
  const D d;
  int64_t j = 0;
  for (; j + kLanes <= n; j += kLanes) {
    V sum = hn::LoadU(d, y + j);
    for (int r = 0; r < kRows; ++r) {
      sum = hn::MulAdd(hn::Set(d, x[r]), hn::LoadU(d, w + r * stride + j), sum);
    }
    hn::StoreU(sum, d, y + j);
  }
  for (; j < n; ++j) {
    for (int r = 0; r < kRows; ++r) y[j] += x[r] * w[r * stride + j];
  }
}

void add_rows_here(const float* x, int64_t k, const float* w, int64_t n, int64_t begin, int64_t end,
                   float* y) {
  constexpr int kRows = 8;
  std::fill(y + begin, y + end, 0.0f);
  int64_t p = 0;
  for (; p + kRows <= k; p += kRows) {
    add_some_rows<kRows>(x + p, w + p * n + begin, n, end - begin, y + begin);
  }
  for (; p < k; ++p) add_some_rows<1>(x + p, w + p * n + begin, n, end - begin, y + begin);
}

}  // namespace
}  // namespace shoal::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace shoal::cpu {

HWY_EXPORT(dot_rows_here);
HWY_EXPORT(add_rows_here);

void dot_rows(const Dots& dots, int64_t begin, int64_t end) {
  HWY_DYNAMIC_DISPATCH(dot_rows_here)(dots, begin, end);
}

void add_rows(const float* x, int64_t k, const float* w, int64_t n, int64_t begin, int64_t end,
              float* y) {
  HWY_DYNAMIC_DISPATCH(add_rows_here)(x, k, w, n, begin, end, y);
}

}  // namespace shoal::cpu
#endif  // HWY_ONCE
