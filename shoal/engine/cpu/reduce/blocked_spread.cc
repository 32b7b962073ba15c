// Gradients of pools. Windows overlap, so dx is accumulated, and one thread does a whole plane. The
// gradient of MaxPool finds the index of the largest tap per lane in one pass over the window, and
// adds dy where the index matches in a second: channels of one vector may have different winners.
#include "shoal/engine/cpu/reduce/rows.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "shoal/engine/cpu/reduce/blocked_spread.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace shoal::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;
using ops::Range;

constexpr int64_t kLanes = HWY_LANES(float);

// Calls f(offset in dx) for the taps of a window that lie in the image.
template <class F>
HWY_INLINE void for_each_tap(const Spread& spread, int64_t row, Range row_taps, int64_t column,
                             Range column_taps, const F& f) {
  for (int64_t kh = row_taps.begin; kh < row_taps.end; ++kh) {
    const int64_t line = spread.rows->position(row, kh) * spread.columns->input;
    for (int64_t kw = column_taps.begin; kw < column_taps.end; ++kw) {
      f((line + spread.columns->position(column, kw)) * kLanes);
    }
  }
}

// Calls f(pixel of the output, for_its_taps), where for_its_taps(g) calls g(offset in dx).
template <class F>
HWY_INLINE void for_each_window(const Spread& spread, const F& f) {
  int64_t pixel = 0;
  for (int64_t row = 0; row < spread.rows->output; ++row) {
    const Range row_taps = spread.rows->taps(row);
    for (int64_t column = 0; column < spread.columns->output; ++column, ++pixel) {
      const Range taps = spread.columns->taps(column);
      f(pixel, [&](const auto& g) { for_each_tap(spread, row, row_taps, column, taps, g); });
    }
  }
}

void spread_to_largest_here(const Spread& spread, const float* x) {
  const D d;
  for_each_window(spread, [&](int64_t pixel, const auto& for_its_taps) {
    // Indices of taps are floats, so that masks of elements select them; exact up to 2^24 taps.
    V best = hn::Zero(d), taken = hn::Set(d, -1.0f);
    float tap = 0;
    for_its_taps([&](int64_t at) {
      const V value = hn::LoadU(d, x + at);
      const auto larger =
          hn::Or(hn::Or(hn::Gt(value, best), hn::AndNot(hn::IsNaN(best), hn::IsNaN(value))),
                 hn::Lt(taken, hn::Zero(d)));
      best = hn::IfThenElse(larger, value, best);
      taken = hn::IfThenElse(larger, hn::Set(d, tap), taken);
      tap += 1;
    });
    const V dy = hn::LoadU(d, spread.dy + pixel * kLanes);
    tap = 0;
    for_its_taps([&](int64_t at) {
      const V share = hn::IfThenElseZero(hn::Eq(taken, hn::Set(d, tap)), dy);
      hn::StoreU(hn::Add(hn::LoadU(d, spread.dx + at), share), d, spread.dx + at);
      tap += 1;
    });
  });
}

void spread_evenly_here(const Spread& spread, const float* shares) {
  const D d;
  for_each_window(spread, [&](int64_t pixel, const auto& for_its_taps) {
    const V share = hn::Mul(hn::LoadU(d, spread.dy + pixel * kLanes), hn::Set(d, shares[pixel]));
    for_its_taps([&](int64_t at) {
      hn::StoreU(hn::Add(hn::LoadU(d, spread.dx + at), share), d, spread.dx + at);
    });
  });
}

}  // namespace
}  // namespace shoal::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace shoal::cpu {

HWY_EXPORT(spread_to_largest_here);
HWY_EXPORT(spread_evenly_here);

void spread_to_largest(const Spread& spread, const float* x) {
  HWY_DYNAMIC_DISPATCH(spread_to_largest_here)(spread, x);
}
void spread_evenly(const Spread& spread, const float* shares) {
  HWY_DYNAMIC_DISPATCH(spread_evenly_here)(spread, shares);
}

}  // namespace shoal::cpu
#endif  // HWY_ONCE
