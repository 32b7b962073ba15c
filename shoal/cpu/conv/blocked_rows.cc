// Depthwise convolutions and pools in the blocked layout. A multiply-accumulate needs one pixel and
// one weight, so that loads are the limit. convolve_pixels() therefore computes six neighbouring
// outputs at once: a row of taps is loaded into registers, and each pixel of the image is loaded
// once and added to all sums that it belongs to. For 3 x 3 and stride 1 that is 8 + 3 loads for 18
// FMA per row of taps, instead of 36. Outputs whose window leaves the image, and unusual kernels,
// go pixel by pixel.
#include "shoal/cpu/conv/blocked_rows.h"

#include <algorithm>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "shoal/cpu/conv/blocked_rows.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "shoal/cpu/elementwise/clamp-inl.h"

HWY_BEFORE_NAMESPACE();
namespace shoal::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;
using ops::Range;
using ops::WindowAxis;

constexpr int64_t kLanes = HWY_LANES(float);

HWY_INLINE const float* line_of(const BlockedRows& rows, int64_t row, int64_t tap) {
  return rows.x + rows.rows->position(row, tap) * rows.columns->input * kLanes;
}

HWY_INLINE void finish(const BlockedFilter& filter, V sum, int64_t at, float* y) {
  const D d;
  if (filter.addend != nullptr) sum = hn::Add(sum, hn::LoadU(d, filter.addend + at));
  sum = at_most(hn::Set(d, filter.high), at_least(hn::Set(d, filter.low), sum));
  hn::StoreU(sum, d, y + at);
}

// One pixel, with the taps that lie in the image.
void convolve_pixel(const BlockedRows& rows, const BlockedFilter& filter, int64_t row,
                    int64_t column) {
  const D d;
  const WindowAxis& axis = *rows.columns;
  const Range row_taps = rows.rows->taps(row), taps = axis.taps(column);
  V sum = hn::LoadU(d, filter.bias);
  for (int64_t kh = row_taps.begin; kh < row_taps.end; ++kh) {
    const float* x = line_of(rows, row, kh);
    const float* w = filter.w + kh * axis.kernel * kLanes;
    for (int64_t kw = taps.begin; kw < taps.end; ++kw) {
      sum = hn::MulAdd(hn::LoadU(d, w + kw * kLanes),
                       hn::LoadU(d, x + axis.position(column, kw) * kLanes), sum);
    }
  }
  finish(filter, sum, (row * axis.output + column) * kLanes, rows.y);
}

// kPixels neighbours whose columns all lie in the image. Pixel i of the row meets tap k of output p
// where i = p * kStride + k; the loops unroll, so that the condition costs nothing.
template <int kPixels, int kTaps, int kStride>
HWY_INLINE void convolve_pixels(const BlockedRows& rows, const BlockedFilter& filter, int64_t row,
                                int64_t column) {
  const D d;
  const WindowAxis& axis = *rows.columns;
  const Range row_taps = rows.rows->taps(row);
  V sum[kPixels];
  for (int p = 0; p < kPixels; ++p) sum[p] = hn::LoadU(d, filter.bias);
  for (int64_t kh = row_taps.begin; kh < row_taps.end; ++kh) {
    const float* x = line_of(rows, row, kh) + axis.position(column, 0) * kLanes;
    const float* w = filter.w + kh * kTaps * kLanes;
    V weight[kTaps];
    for (int k = 0; k < kTaps; ++k) weight[k] = hn::LoadU(d, w + k * kLanes);
#pragma GCC unroll 32
    for (int i = 0; i < (kPixels - 1) * kStride + kTaps; ++i) {
      const V pixel = hn::LoadU(d, x + i * kLanes);
#pragma GCC unroll 8
      for (int k = 0; k < kTaps; ++k) {
        const int p = (i - k) / kStride;
        if (i >= k && (i - k) % kStride == 0 && p < kPixels) {
          sum[p] = hn::MulAdd(weight[k], pixel, sum[p]);
        }
      }
    }
  }
  const int64_t at = (row * axis.output + column) * kLanes;
  for (int p = 0; p < kPixels; ++p) finish(filter, sum[p], at + p * kLanes, rows.y);
}

// Outputs from `column` on, as many as fit before `end`; returns where it stopped.
template <int kTaps, int kStride>
int64_t convolve_inside(const BlockedRows& rows, const BlockedFilter& filter, int64_t row,
                        int64_t column, int64_t end) {
  constexpr int kMany = 6, kFew = 2;
  for (; column + kMany <= end; column += kMany) {
    convolve_pixels<kMany, kTaps, kStride>(rows, filter, row, column);
  }
  for (; column + kFew <= end; column += kFew) {
    convolve_pixels<kFew, kTaps, kStride>(rows, filter, row, column);
  }
  return column;
}

void convolve_row(const BlockedRows& rows, const BlockedFilter& filter, int64_t row) {
  const WindowAxis& axis = *rows.columns;
  // Outputs [begin, end) have no tap in the padding.
  const int64_t begin = axis.outputs(0).begin;
  const int64_t end = std::max(axis.outputs(axis.kernel - 1).end, begin);
  for (int64_t o = 0; o < begin; ++o) convolve_pixel(rows, filter, row, o);
  int64_t done = begin;
  if (axis.dilation == 1 && axis.kernel == 3 && axis.stride == 1) {
    done = convolve_inside<3, 1>(rows, filter, row, begin, end);
  } else if (axis.dilation == 1 && axis.kernel == 3 && axis.stride == 2) {
    done = convolve_inside<3, 2>(rows, filter, row, begin, end);
  } else if (axis.dilation == 1 && axis.kernel == 5 && axis.stride == 1) {
    done = convolve_inside<5, 1>(rows, filter, row, begin, end);
  } else if (axis.dilation == 1 && axis.kernel == 5 && axis.stride == 2) {
    done = convolve_inside<5, 2>(rows, filter, row, begin, end);
  }
  for (int64_t o = done; o < axis.output; ++o) convolve_pixel(rows, filter, row, o);
}

void convolve_rows_here(const BlockedRows& rows, const BlockedFilter& filter) {
  for (int64_t row = rows.begin; row < rows.end; ++row) convolve_row(rows, filter, row);
}

struct Max {
  static constexpr float kStart = -std::numeric_limits<float>::infinity();
  static HWY_INLINE V combine(V sum, V x) {
    // A NaN wins, as in the reference. hn::Max would keep or lose it depending on the target.
    return hn::IfThenElse(hn::Or(hn::Gt(x, sum), hn::IsNaN(x)), x, sum);
  }
};

struct Sum {
  static constexpr float kStart = 0;
  static HWY_INLINE V combine(V sum, V x) { return hn::Add(sum, x); }
};

template <class F>
void pool_rows(const BlockedRows& rows) {
  const D d;
  const WindowAxis& axis = *rows.columns;
  for (int64_t row = rows.begin; row < rows.end; ++row) {
    const Range row_taps = rows.rows->taps(row);
    for (int64_t o = 0; o < axis.output; ++o) {
      const Range taps = axis.taps(o);
      V sum = hn::Set(d, F::kStart);
      for (int64_t kh = row_taps.begin; kh < row_taps.end; ++kh) {
        const float* x = line_of(rows, row, kh);
        for (int64_t kw = taps.begin; kw < taps.end; ++kw) {
          sum = F::combine(sum, hn::LoadU(d, x + axis.position(o, kw) * kLanes));
        }
      }
      hn::StoreU(sum, d, rows.y + (row * axis.output + o) * kLanes);
    }
  }
}

void max_rows_here(const BlockedRows& rows) { pool_rows<Max>(rows); }
void sum_rows_here(const BlockedRows& rows) { pool_rows<Sum>(rows); }

}  // namespace
}  // namespace shoal::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace shoal::cpu {

HWY_EXPORT(convolve_rows_here);
HWY_EXPORT(max_rows_here);
HWY_EXPORT(sum_rows_here);

void convolve_rows(const BlockedRows& rows, const BlockedFilter& filter) {
  HWY_DYNAMIC_DISPATCH(convolve_rows_here)(rows, filter);
}
void max_rows(const BlockedRows& rows) { HWY_DYNAMIC_DISPATCH(max_rows_here)(rows); }
void sum_rows(const BlockedRows& rows) { HWY_DYNAMIC_DISPATCH(sum_rows_here)(rows); }

}  // namespace shoal::cpu
#endif  // HWY_ONCE
