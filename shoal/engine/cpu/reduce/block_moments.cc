// Moments in two passes: the mean, then squared distances from it, which does not cancel like
// E[x^2] - E[x]^2 would. Parts of a plane have separate moments, combined by
//   sum of (squares_i + n_i * (mean_i - mean)^2)
// The second pass finds a part of a few hundred pixels in the first-level cache.
#include "shoal/engine/cpu/reduce/rows.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "shoal/engine/cpu/reduce/block_moments.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace shoal::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

constexpr int64_t kLanes = HWY_LANES(float);

// Sum over the pixels, f(pixel, sum so far).
template <class F>
HWY_INLINE V sum(const float* x, int64_t pixels, const F& f) {
  const D d;
  V sums[4];  // independent chains hide the latency of additions
  for (V& s : sums) s = hn::Zero(d);
  int64_t i = 0;
  for (; i + 4 <= pixels; i += 4) {
#pragma GCC unroll 4
    for (int k = 0; k < 4; ++k) sums[k] = f(hn::LoadU(d, x + (i + k) * kLanes), sums[k]);
  }
  for (; i < pixels; ++i) sums[0] = f(hn::LoadU(d, x + i * kLanes), sums[0]);
  return hn::Add(hn::Add(sums[0], sums[1]), hn::Add(sums[2], sums[3]));
}

void block_moments_here(const float* x, int64_t pixels, float* mean, float* squares) {
  const D d;
  const V total = sum(x, pixels, [](V pixel, V so_far) { return hn::Add(so_far, pixel); });
  const V center = hn::Div(total, hn::Set(d, static_cast<float>(pixels)));
  hn::StoreU(center, d, mean);
  hn::StoreU(sum(x, pixels,
                 [&](V pixel, V so_far) {
                   const V distance = hn::Sub(pixel, center);
                   return hn::MulAdd(distance, distance, so_far);
                 }),
             d, squares);
}

void scale_block_here(const BlockScale& scale, const float* x, float* y, int64_t pixels) {
  const D d;
  const V mean = hn::LoadU(d, scale.mean), factor = hn::LoadU(d, scale.factor),
          shift = hn::LoadU(d, scale.shift);
  for (int64_t i = 0; i < pixels * kLanes; i += kLanes) {
    hn::StoreU(hn::MulAdd(hn::Sub(hn::LoadU(d, x + i), mean), factor, shift), d, y + i);
  }
}

void block_products_here(const float* x, const float* mean, const float* dy, int64_t pixels,
                         float* sum_of, float* along_of) {
  const D d;
  const V center = hn::LoadU(d, mean);
  // Two chains for each of the two sums.
  V sums[2] = {hn::Zero(d), hn::Zero(d)}, along[2] = {hn::Zero(d), hn::Zero(d)};
  const auto add = [&](int64_t i, int turn) HWY_ATTR {
    const V gradient = hn::LoadU(d, dy + i * kLanes);
    const V distance = hn::Sub(hn::LoadU(d, x + i * kLanes), center);
    sums[turn] = hn::Add(sums[turn], gradient);
    along[turn] = hn::MulAdd(gradient, distance, along[turn]);
  };
  int64_t i = 0;
  for (; i + 2 <= pixels; i += 2) {
    add(i, 0);
    add(i + 1, 1);
  }
  if (i < pixels) add(i, 0);
  hn::StoreU(hn::Add(sums[0], sums[1]), d, sum_of);
  hn::StoreU(hn::Add(along[0], along[1]), d, along_of);
}

void mix_blocks_here(const BlockMix& mix, const float* x, const float* dy, float* dx,
                     int64_t pixels) {
  const D d;
  const V mean = hn::LoadU(d, mix.mean), factor = hn::LoadU(d, mix.factor),
          slope = hn::LoadU(d, mix.slope), shift = hn::LoadU(d, mix.shift);
  for (int64_t i = 0; i < pixels * kLanes; i += kLanes) {
    const V distance = hn::Sub(hn::LoadU(d, x + i), mean);
    const V moved = hn::MulAdd(hn::LoadU(d, dy + i), factor, shift);
    hn::StoreU(hn::MulAdd(distance, slope, moved), d, dx + i);
  }
}

}  // namespace
}  // namespace shoal::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace shoal::cpu {

HWY_EXPORT(block_moments_here);
HWY_EXPORT(scale_block_here);
HWY_EXPORT(block_products_here);
HWY_EXPORT(mix_blocks_here);

void block_moments(const float* x, int64_t pixels, float* mean, float* squares) {
  HWY_DYNAMIC_DISPATCH(block_moments_here)(x, pixels, mean, squares);
}

void scale_block(const BlockScale& scale, const float* x, float* y, int64_t pixels) {
  HWY_DYNAMIC_DISPATCH(scale_block_here)(scale, x, y, pixels);
}

void block_products(const float* x, const float* mean, const float* dy, int64_t pixels, float* sum,
                    float* along) {
  HWY_DYNAMIC_DISPATCH(block_products_here)(x, mean, dy, pixels, sum, along);
}

void mix_blocks(const BlockMix& mix, const float* x, const float* dy, float* dx, int64_t pixels) {
  HWY_DYNAMIC_DISPATCH(mix_blocks_here)(mix, x, dy, dx, pixels);
}

}  // namespace shoal::cpu
#endif  // HWY_ONCE
