// Depthwise convolution of one plane. Neighbouring outputs of a row are the lanes of a vector; each
// tap is broadcast and meets a vector of the image that is shifted by its position. With stride 2
// the even elements are separated by an interleaved load; other strides and the borders are scalar.
// A tap costs one load and one FMA per vector of outputs.
#include <algorithm>

#include "shoal/engine/cpu/conv_loops/conv_loops.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "shoal/engine/cpu/conv_loops/depthwise.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "shoal/engine/cpu/elementwise/clamp-inl.h"

HWY_BEFORE_NAMESPACE();
namespace shoal::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

constexpr int64_t kLanes = HWY_LANES(float);

// One row of the output, and the taps that meet the image there.
struct Row {
  int64_t d, h;
  ops::Range depth_taps, row_taps;
  const float* x_end;  // of the plane
};

// Calls f(line of x, its taps) for every line of the image that the row reads.
template <class F>
HWY_INLINE void for_each_line(const Depthwise& p, const Row& row, const F& f) {
  const auto& [depths, rows, columns] = p.window->axes;
  for (int64_t kd = row.depth_taps.begin; kd < row.depth_taps.end; ++kd) {
    for (int64_t kh = row.row_taps.begin; kh < row.row_taps.end; ++kh) {
      const int64_t line = depths.position(row.d, kd) * rows.input + rows.position(row.h, kh);
      f(p.x + line * columns.input, p.w + (kd * rows.kernel + kh) * columns.kernel);
    }
  }
}

void convolve_columns(const Depthwise& p, const Row& row, int64_t begin, int64_t end, float* y,
                      const float* addend) {
  const ops::WindowAxis& axis = p.window->axes[2];
  for (int64_t o = begin; o < end; ++o) {
    const ops::Range taps = axis.taps(o);
    float sum = p.bias;
    for_each_line(p, row, [&](const float* x, const float* w) {
      for (int64_t k = taps.begin; k < taps.end; ++k) sum += w[k] * x[axis.position(o, k)];
    });
    if (addend != nullptr) sum += addend[o];
    y[o] = std::min(std::max(sum, p.low), p.high);
  }
}

// The elements at x, x + stride, x + 2 * stride and so on.
template <int kStride>
HWY_INLINE V load(D d, const float* x) {
  if constexpr (kStride == 1) return hn::LoadU(d, x);
#if HWY_TARGET != HWY_SCALAR
  if constexpr (kStride == 2) {
    V even, odd;
    hn::LoadInterleaved2(d, x, even, odd);
    return even;
  }
#endif
  return hn::Zero(d);
}

// Whole vectors of outputs from `begin` on, as many as fit before `end`. REQUIRES: all their taps
// lie in the image. Returns where it stopped. kTaps is the width of the kernel, or 0 for a variable
// one.
template <int kStride, int kTaps>
int64_t convolve_vectors(const Depthwise& p, const Row& row, int64_t begin, int64_t end, float* y,
                         const float* addend) {
  const D d;
  const ops::WindowAxis& axis = p.window->axes[2];
  const int64_t taps = kTaps > 0 ? kTaps : axis.kernel;
  const V low = hn::Set(d, p.low), high = hn::Set(d, p.high);
  int64_t o = begin;
  for (; o + kLanes <= end; o += kLanes) {
    const int64_t first = axis.position(o, 0);
    // LoadInterleaved2 reads the odd elements too, one beyond the last that is needed. At the end
    // of the plane that may be outside of the tensor, so the rest of the row is left to the scalar
    // loop.
    bool inside = true;
    V sum = hn::Set(d, p.bias);
    for_each_line(p, row, [&](const float* x, const float* w) {
      const float* last = x + first + (taps - 1) * axis.dilation;
      if (kStride > 1 && last + kStride * kLanes > row.x_end) {
        inside = false;
        return;
      }
      for (int64_t k = 0; k < taps; ++k) {
        sum = hn::MulAdd(hn::Set(d, w[k]), load<kStride>(d, x + first + k * axis.dilation), sum);
      }
    });
    if (!inside) break;
    if (addend != nullptr) sum = hn::Add(sum, hn::LoadU(d, addend + o));
    hn::StoreU(at_most(high, at_least(low, sum)), d, y + o);
  }
  return o;
}

template <int kStride>
int64_t convolve_inside(const Depthwise& p, const Row& row, int64_t begin, int64_t end, float* y,
                        const float* addend) {
  const int64_t taps = p.window->axes[2].kernel;
  if (taps == 3) return convolve_vectors<kStride, 3>(p, row, begin, end, y, addend);
  if (taps == 5) return convolve_vectors<kStride, 5>(p, row, begin, end, y, addend);
  return convolve_vectors<kStride, 0>(p, row, begin, end, y, addend);
}

void convolve_row(const Depthwise& p, const Row& row, float* y, const float* addend) {
  const ops::WindowAxis& axis = p.window->axes[2];
  // Outputs [begin, end) have no tap in the padding.
  const int64_t begin = axis.outputs(0).begin;
  const int64_t end = std::max(axis.outputs(axis.kernel - 1).end, begin);
  convolve_columns(p, row, 0, begin, y, addend);
  int64_t done = begin;
  if (axis.stride == 1) done = convolve_inside<1>(p, row, begin, end, y, addend);
#if HWY_TARGET != HWY_SCALAR
  if (axis.stride == 2) done = convolve_inside<2>(p, row, begin, end, y, addend);
#endif
  convolve_columns(p, row, done, axis.output, y, addend);
}

void convolve_plane_here(const Depthwise& p) {
  const auto& [depths, rows, columns] = p.window->axes;
  const float* x_end = p.x + depths.input * rows.input * columns.input;
  float* y = p.y;
  const float* addend = p.addend;
  for (int64_t d = 0; d < depths.output; ++d) {
    for (int64_t h = 0; h < rows.output; ++h, y += columns.output) {
      convolve_row(p, {d, h, depths.taps(d), rows.taps(h), x_end}, y, addend);
      if (addend != nullptr) addend += columns.output;
    }
  }
}

}  // namespace
}  // namespace shoal::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace shoal::cpu {

HWY_EXPORT(convolve_plane_here);

void convolve_plane(const Depthwise& depthwise) {
  HWY_DYNAMIC_DISPATCH(convolve_plane_here)(depthwise);
}

}  // namespace shoal::cpu
#endif  // HWY_ONCE
