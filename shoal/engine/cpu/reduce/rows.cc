// Passes over rows. Sums run in float vectors over pieces of kRun elements and in double from piece
// to piece: the error of a float sum grows with its length, and a vector accumulator then adds at
// most kRun / kLanes numbers. A softmax reads its row three times (maximum, exponentials and sum,
// scale), which costs nothing extra while the row fits into a cache; exponentials are most of the
// work.
#include "shoal/engine/cpu/reduce/rows.h"

#include <algorithm>
#include <cmath>
#include <limits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "shoal/engine/cpu/reduce/rows.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "shoal/engine/cpu/elementwise/vector_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace shoal::cpu::HWY_NAMESPACE {
namespace {

// Elements that are summed up in floats before a double takes over.
constexpr int64_t kRun = 1024;

// sum_i f(x_i)
template <class F>
HWY_INLINE double sum(const float* x, int64_t n, const F& f) {
  const D d;
  double total = 0;
  int64_t i = 0;
  while (i + kLanes <= n) {
    const int64_t end = std::min(i + kRun, n);
    V a = hn::Zero(d), b = hn::Zero(d);  // two chains hide the latency of additions
    for (; i + 2 * kLanes <= end; i += 2 * kLanes) {
      a = hn::Add(a, f(d, hn::LoadU(d, x + i)));
      b = hn::Add(b, f(d, hn::LoadU(d, x + i + kLanes)));
    }
    for (; i + kLanes <= end; i += kLanes) a = hn::Add(a, f(d, hn::LoadU(d, x + i)));
    total += static_cast<double>(hn::GetLane(hn::SumOfLanes(d, hn::Add(a, b))));
  }
  for (; i < n; ++i) total += static_cast<double>(hn::GetLane(f(d, hn::Set(d, x[i]))));
  return total;
}

double sum_here(const float* x, int64_t n) {
  return sum(x, n, [](D, V v) { return v; });
}

float max_of(const float* x, int64_t n) {
  const D d;
  V most = hn::Set(d, -std::numeric_limits<float>::infinity());
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) most = hn::Max(most, hn::LoadU(d, x + i));
  float top = hn::GetLane(hn::MaxOfLanes(d, most));
  for (; i < n; ++i) top = std::max(top, x[i]);
  return top;
}

// y_i = exp(x_i - top); returns the sum.
double exp_and_sum(const float* x, float* y, int64_t n, float top) {
  const D d;
  const V shift = hn::Set(d, top);
  auto exp_of = [&](V v) { return exp_or_zero(d, hn::Sub(v, shift)); };
  double total = 0;
  int64_t i = 0;
  while (i + kLanes <= n) {
    const int64_t end = std::min(i + kRun, n);
    V sum = hn::Zero(d);
    for (; i + kLanes <= end; i += kLanes) {
      const V v = exp_of(hn::LoadU(d, x + i));
      sum = hn::Add(sum, v);
      hn::StoreU(v, d, y + i);
    }
    total += static_cast<double>(hn::GetLane(hn::SumOfLanes(d, sum)));
  }
  for (; i < n; ++i) {
    y[i] = hn::GetLane(exp_of(hn::Set(d, x[i])));
    total += static_cast<double>(y[i]);
  }
  return total;
}

void scale_here(float factor, float* x, int64_t n) {
  map(x, x, n, [&](D d, V v) { return hn::Mul(v, hn::Set(d, factor)); });
}

void softmax_here(const float* x, float* y, int64_t n) {
  const double sum = exp_and_sum(x, y, n, max_of(x, n));
  scale_here(static_cast<float>(1 / sum), y, n);
}

float softmax_part_here(float* x, int64_t n, SoftmaxSoFar& so_far) {
  const float top = std::max(so_far.top, max_of(x, n));
  if (top == -std::numeric_limits<float>::infinity()) {  // all masked so far: -inf - -inf is NaN
    so_far.sum += exp_and_sum(x, x, n, 0);
    return 1;
  }
  // exp(x - top) = exp(x - old top) * exp(old top - top). Zero for the first part, whose old top is
  // -inf.
  const float factor = std::exp(so_far.top - top);
  so_far.top = top;
  so_far.sum = so_far.sum * static_cast<double>(factor) + exp_and_sum(x, x, n, top);
  return factor;
}

MeanAndVariance mean_and_variance_here(const float* x, int64_t n) {
  const auto count = static_cast<double>(n);
  const double mean = sum_here(x, n) / count;
  const auto center = static_cast<float>(mean);
  const double squares = sum(x, n, [&](D d, V v) {
    const V distance = hn::Sub(v, hn::Set(d, center));
    return hn::Mul(distance, distance);
  });
  // Distances were measured from the rounded mean c: E[(x - c)^2] = variance + (mean - c)^2.
  const double off = mean - static_cast<double>(center);
  return {mean, squares / count - off * off};
}

void normalize_row_here(const float* x, float mean, float factor, const float* scale,
                        const float* shift, float* y, int64_t n) {
  const D d;
  const V center = hn::Set(d, mean), slope = hn::Set(d, factor);
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    V v = hn::Mul(hn::Sub(hn::LoadU(d, x + i), center), slope);
    if (scale != nullptr) v = hn::Mul(v, hn::LoadU(d, scale + i));
    if (shift != nullptr) v = hn::Add(v, hn::LoadU(d, shift + i));
    hn::StoreU(v, d, y + i);
  }
  for (; i < n; ++i) {
    const float v = (x[i] - mean) * factor * (scale != nullptr ? scale[i] : 1);
    y[i] = v + (shift != nullptr ? shift[i] : 0);
  }
}

void normalize_plane_here(const float* x, float mean, float factor, float shift, float* y,
                          int64_t n) {
  map(x, y, n, [&](D d, V v) {
    return hn::MulAdd(hn::Sub(v, hn::Set(d, mean)), hn::Set(d, factor), hn::Set(d, shift));
  });
}

}  // namespace
}  // namespace shoal::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace shoal::cpu {

HWY_EXPORT(sum_here);
HWY_EXPORT(scale_here);
HWY_EXPORT(softmax_here);
HWY_EXPORT(softmax_part_here);
HWY_EXPORT(mean_and_variance_here);
HWY_EXPORT(normalize_row_here);
HWY_EXPORT(normalize_plane_here);

double sum_of(const float* x, int64_t n) { return HWY_DYNAMIC_DISPATCH(sum_here)(x, n); }

void softmax_row(const float* x, float* y, int64_t n) {
  HWY_DYNAMIC_DISPATCH(softmax_here)(x, y, n);
}

void scale_row(float factor, float* x, int64_t n) {
  HWY_DYNAMIC_DISPATCH(scale_here)(factor, x, n);
}

float softmax_part(float* x, int64_t n, SoftmaxSoFar& so_far) {
  return HWY_DYNAMIC_DISPATCH(softmax_part_here)(x, n, so_far);
}

MeanAndVariance mean_and_variance(const float* x, int64_t n) {
  return HWY_DYNAMIC_DISPATCH(mean_and_variance_here)(x, n);
}

void normalize_row(const float* x, float mean, float factor, const float* scale, const float* shift,
                   float* y, int64_t n) {
  HWY_DYNAMIC_DISPATCH(normalize_row_here)(x, mean, factor, scale, shift, y, n);
}

void normalize_plane(const float* x, float mean, float factor, float shift, float* y, int64_t n) {
  HWY_DYNAMIC_DISPATCH(normalize_plane_here)(x, mean, factor, shift, y, n);
}

}  // namespace shoal::cpu
#endif  // HWY_ONCE
