#include "shoal/engine/cpu/movement/movement.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "shoal/engine/cpu/movement/resize_lines.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace shoal::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;

constexpr int64_t kLanes = HWY_LANES(float);

// One element of each line at x, from one line to the next in steps of `stride`.
HWY_INLINE float add_elements(std::span<const float> weights, const float* x, int64_t stride) {
  float sum = weights[0] * *x;
  for (size_t t = 1; t < weights.size(); ++t) sum += weights[t] * *(x += stride);
  return sum;
}

HWY_INLINE hn::Vec<D> add_vectors(std::span<const float> weights, const float* x, int64_t stride) {
  const D d;
  auto sum = hn::Mul(hn::Set(d, weights[0]), hn::LoadU(d, x));
  for (size_t t = 1; t < weights.size(); ++t) {
    sum = hn::MulAdd(hn::Set(d, weights[t]), hn::LoadU(d, x += stride), sum);
  }
  return sum;
}

HWY_INLINE void add_lines_here(std::span<const float> weights, const float* x, float* y,
                               int64_t n) {
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) hn::StoreU(add_vectors(weights, x + i, n), D(), y + i);
  for (; i < n; ++i) y[i] = add_elements(weights, x + i, n);
}

// A constant number of taps is unrolled.
template <size_t kTaps>
HWY_INLINE void resize_by(const LineTaps& taps, const float* x, int64_t inner, float* y) {
  const float* w = taps.weights.data();
  for (const int64_t first : taps.first) {
    const std::span<const float, kTaps> weights(w, kTaps);
    if (inner == 1) {
      *y = add_elements(weights, x + first, 1);
    } else {
      add_lines_here(weights, x + first * inner, y, inner);
    }
    w += kTaps;
    y += inner;
  }
}

void resize_line_here(const LineTaps& taps, const float* x, int64_t inner, float* y) {
  if (taps.each == 1) return resize_by<1>(taps, x, inner, y);
  if (taps.each == 2) return resize_by<2>(taps, x, inner, y);
  for (size_t k = 0; k < taps.first.size(); ++k, y += inner) {
    add_lines_here(taps.weights_of(k), x + taps.first[k] * inner, y, inner);
  }
}

}  // namespace
}  // namespace shoal::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace shoal::cpu {

HWY_EXPORT(add_lines_here);
HWY_EXPORT(resize_line_here);

void add_lines(std::span<const float> weights, const float* x, float* y, int64_t n) {
  HWY_DYNAMIC_DISPATCH(add_lines_here)(weights, x, y, n);
}

void resize_line(const LineTaps& taps, const float* x, int64_t inner, float* y) {
  HWY_DYNAMIC_DISPATCH(resize_line_here)(taps, x, inner, y);
}

}  // namespace shoal::cpu
#endif  // HWY_ONCE
