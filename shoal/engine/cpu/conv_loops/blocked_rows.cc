// Depthwise convolutions and pools in the blocked layout. A multiply-accumulate needs one pixel and
// one weight, so that loads are the limit. convolve_pixels() therefore computes six neighbouring
// outputs at once: a row of taps is loaded into registers, and each pixel of the image is loaded
// once and added to all sums that it belongs to. For 3 x 3 and stride 1 that is 8 + 3 loads for 18
// FMA per row of taps, instead of 36. Outputs whose window leaves the image, and unusual kernels,
// go pixel by pixel.
#include <algorithm>
#include <limits>

#include "shoal/engine/cpu/conv_loops/conv_loops.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "shoal/engine/cpu/conv_loops/blocked_rows.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "shoal/engine/cpu/conv_loops/finish-inl.h"

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

// Stores sums of kPixels neighbours from `at` on.
template <int kPixels>
HWY_INLINE void store(const BlockedFilter& filter, V (&sum)[kPixels], int64_t at, float* y) {
  const D d;
  const Finisher finish(filter.finish, 0);
  for (int p = 0; p < kPixels; ++p, at += kLanes) {
    if (filter.addend != nullptr) sum[p] = hn::Add(sum[p], hn::LoadU(d, filter.addend + at));
    hn::StoreU(finish(sum[p]), d, y + at);
  }
}

// A row of the output, and the taps that meet the image there: they are found by divisions, which
// take longer than a few pixels.
struct Row {
  int64_t index;
  Range taps;
};

// One pixel, with the taps that lie in the image.
void convolve_pixel(const BlockedRows& rows, const BlockedFilter& filter, const Row& row,
                    int64_t column) {
  const D d;
  const WindowAxis& axis = *rows.columns;
  const Range taps = axis.taps(column);
  V sum[] = {hn::LoadU(d, filter.bias)};
  for (int64_t kh = row.taps.begin; kh < row.taps.end; ++kh) {
    const float* x = line_of(rows, row.index, kh);
    const float* w = filter.w + kh * axis.kernel * kLanes;
    for (int64_t kw = taps.begin; kw < taps.end; ++kw) {
      sum[0] = hn::MulAdd(hn::LoadU(d, w + kw * kLanes),
                          hn::LoadU(d, x + axis.position(column, kw) * kLanes), sum[0]);
    }
  }
  store(filter, sum, (row.index * axis.output + column) * kLanes, rows.y);
}

// kPixels neighbours whose columns all lie in the image. Pixel i of the row meets tap k of output p
// where i = p * kStride + k; the loops unroll, so that the condition costs nothing.
template <int kPixels, int kTaps, int kStride>
HWY_INLINE void convolve_pixels(const BlockedRows& rows, const BlockedFilter& filter,
                                const Row& row, int64_t column) {
  const D d;
  const WindowAxis& axis = *rows.columns;
  V sum[kPixels];
  for (int p = 0; p < kPixels; ++p) sum[p] = hn::LoadU(d, filter.bias);
  for (int64_t kh = row.taps.begin; kh < row.taps.end; ++kh) {
    const float* x = line_of(rows, row.index, kh) + axis.position(column, 0) * kLanes;
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
  store(filter, sum, (row.index * axis.output + column) * kLanes, rows.y);
}

// Outputs from `column` on, as many as fit before `end`; returns where it stopped.
template <int kTaps, int kStride>
int64_t convolve_inside(const BlockedRows& rows, const BlockedFilter& filter, const Row& row,
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

// Outputs [begin, end) of the axis have no tap in the padding.
Range inner_outputs(const WindowAxis& axis) {
  const int64_t begin = axis.outputs(0).begin;
  return {begin, std::max(axis.outputs(axis.kernel - 1).end, begin)};
}

void convolve_row(const BlockedRows& rows, const BlockedFilter& filter, const Row& row,
                  Range inner) {
  const WindowAxis& axis = *rows.columns;
  const auto [first, last] = rows.where.columns;
  const int64_t begin = std::clamp(inner.begin, first, last);
  const int64_t end = std::clamp(inner.end, begin, last);
  for (int64_t o = first; o < begin; ++o) convolve_pixel(rows, filter, row, o);
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
  for (int64_t o = done; o < last; ++o) convolve_pixel(rows, filter, row, o);
}

void convolve_rows_here(const BlockedRows& rows, const BlockedFilter& filter) {
  const Range inner = inner_outputs(*rows.columns);
  const Range columns = rows.where.columns;
  for (int64_t row = rows.where.rows.begin; row < rows.where.rows.end; ++row) {
    convolve_row(rows, filter, {row, rows.rows->taps(row)}, inner);
    // Now, as a plane would not stay in the first-level cache.
    float* y = rows.y + (row * rows.columns->output + columns.begin) * kLanes;
    if (filter.pass.loop != nullptr) filter.pass(y, y, columns.count() * kLanes);
  }
}

struct Max {
  static constexpr float kOfNothing = -std::numeric_limits<float>::infinity();
  // A NaN wins, as in the reference: at_least() keeps that of x.
  static HWY_INLINE V combine(V sum, V x) {
    return hn::IfThenElse(hn::IsNaN(sum), sum, at_least(sum, x));
  }
};

struct Sum {
  static constexpr float kOfNothing = 0;
  static HWY_INLINE V combine(V sum, V x) { return hn::Add(sum, x); }
};

// Combines `count` vectors that lie `step` floats apart.
template <class F>
HWY_INLINE V combine(const float* x, int64_t step, int64_t count) {
  const D d;
  if (count == 0) return hn::Set(d, F::kOfNothing);
  V sum = hn::LoadU(d, x);
  for (int64_t i = 1; i < count; ++i) sum = F::combine(sum, hn::LoadU(d, x + i * step));
  return sum;
}

// First the pixels of every column that the windows of a row meet, then the columns of each window:
// an output takes about as many steps as a window has rows and columns, not taps.
template <class F>
void pool_rows(const BlockedRows& rows, float* line) {
  const D d;
  const WindowAxis& axis = *rows.columns;
  const Range inner = inner_outputs(axis), columns = rows.where.columns;
  // Of the image, those that the windows meet.
  const int64_t left = std::max<int64_t>(axis.position(columns.begin, 0), 0);
  const int64_t right = std::min(axis.position(columns.end - 1, axis.kernel - 1) + 1, axis.input);
  for (int64_t row = rows.where.rows.begin; row < rows.where.rows.end; ++row) {
    const Range row_taps = rows.rows->taps(row);
    const float* x = line_of(rows, row, row_taps.begin);
    const int64_t step = rows.rows->dilation * axis.input * kLanes;
    for (int64_t i = left; i < right; ++i) {
      hn::StoreU(combine<F>(x + i * kLanes, step, row_taps.count()), d, line + i * kLanes);
    }
    for (int64_t o = columns.begin; o < columns.end; ++o) {
      const bool is_inner = o >= inner.begin && o < inner.end;
      const Range taps = is_inner ? Range{0, axis.kernel} : axis.taps(o);
      const float* first = line + axis.position(o, taps.begin) * kLanes;
      hn::StoreU(combine<F>(first, axis.dilation * kLanes, taps.count()), d,
                 rows.y + (row * axis.output + o) * kLanes);
    }
  }
}

void max_rows_here(const BlockedRows& rows, float* line) { pool_rows<Max>(rows, line); }
void sum_rows_here(const BlockedRows& rows, float* line) { pool_rows<Sum>(rows, line); }

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
void max_rows(const BlockedRows& rows, float* line) {
  HWY_DYNAMIC_DISPATCH(max_rows_here)(rows, line);
}
void sum_rows(const BlockedRows& rows, float* line) {
  HWY_DYNAMIC_DISPATCH(sum_rows_here)(rows, line);
}

}  // namespace shoal::cpu
#endif  // HWY_ONCE
