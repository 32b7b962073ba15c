// Softmax of several lines at once, one line per lane: maximum, exponentials and sums need no
// reduction across lanes. Lines that are neighbours are loaded as vectors; lines that lie apart are
// gathered, which is slow per element, but wins for rows shorter than a vector. Lines that do not
// fill a vector are scalar.
#include <algorithm>
#include <cmath>
#include <limits>

#include "shoal/engine/cpu/reduce/rows.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "shoal/engine/cpu/reduce/softmax_lines.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "shoal/engine/cpu/elementwise/vector_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace shoal::cpu::HWY_NAMESPACE {
namespace {

// Access to the next element of each line: lines are neighbours, or lie `apart`.
struct Neighbours {
  V load(D d, const float* x) const { return hn::LoadU(d, x); }
  void store(D d, V v, float* y) const { hn::StoreU(v, d, y); }
};
struct Apart {
  hn::Vec<hn::RebindToSigned<D>> offsets;

  V load(D d, const float* x) const { return hn::GatherIndex(d, x, offsets); }
  void store(D d, V v, float* y) const { hn::ScatterIndex(v, d, y, offsets); }
};

template <class Lanes>
HWY_INLINE void softmax_group(const float* x, float* y, int64_t n, int64_t step,
                              const Lanes& lanes) {
  const D d;
  V top = hn::Set(d, -std::numeric_limits<float>::infinity()), sum = hn::Zero(d);
  for (int64_t i = 0; i < n; ++i) top = hn::Max(top, lanes.load(d, x + i * step));
  for (int64_t i = 0; i < n; ++i) {
    const V e = exp_or_zero(d, hn::Sub(lanes.load(d, x + i * step), top));
    sum = hn::Add(sum, e);
    lanes.store(d, e, y + i * step);
  }
  const V factor = hn::Div(hn::Set(d, 1.0f), sum);
  for (int64_t i = 0; i < n; ++i) {
    lanes.store(d, hn::Mul(lanes.load(d, y + i * step), factor), y + i * step);
  }
}

void softmax_line(const float* x, float* y, int64_t n, int64_t step) {
  float top = -std::numeric_limits<float>::infinity(), sum = 0;
  for (int64_t i = 0; i < n; ++i) top = std::max(top, x[i * step]);
  for (int64_t i = 0; i < n; ++i) sum += y[i * step] = std::exp(x[i * step] - top);
  for (int64_t i = 0; i < n; ++i) y[i * step] /= sum;
}

void softmax_lines_here(const float* x, float* y, int64_t lines, int64_t n, int64_t step,
                        int64_t apart) {
  const hn::RebindToSigned<D> integers;
  const Apart by_offset{
      hn::Mul(hn::Iota(integers, 0), hn::Set(integers, static_cast<int32_t>(apart)))};
  int64_t l = 0;
  for (; l + kLanes <= lines; l += kLanes) {
    if (apart == 1) {
      softmax_group(x + l, y + l, n, step, Neighbours());
    } else {
      softmax_group(x + l * apart, y + l * apart, n, step, by_offset);
    }
  }
  for (; l < lines; ++l) softmax_line(x + l * apart, y + l * apart, n, step);
}

}  // namespace
}  // namespace shoal::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace shoal::cpu {

HWY_EXPORT(softmax_lines_here);

void softmax_lines(const float* x, float* y, int64_t lines, int64_t n, int64_t step,
                   int64_t apart) {
  HWY_DYNAMIC_DISPATCH(softmax_lines_here)(x, y, lines, n, step, apart);
}

}  // namespace shoal::cpu
#endif  // HWY_ONCE
