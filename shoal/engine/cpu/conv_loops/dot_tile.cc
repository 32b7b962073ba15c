// Convolution to a few channels, the register block: kPixels x kChannels accumulators of partial
// sums, one input channel per lane. Each tap of a block loads kPixels + kChannels vectors for
// kPixels * kChannels FMA. The lanes are added once per tile: four accumulators at a time are
// transposed and added to a vector of four neighbouring pixels, so that the result is stored by
// vectors as well.
#include "shoal/engine/cpu/conv_loops/conv_loops.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "shoal/engine/cpu/conv_loops/dot_tile.cc"
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
constexpr int64_t kQuad = 4;  // accumulators that are reduced to one vector together

// With more output channels, lanes as output channels (conv_loops.h) waste less.
constexpr int kMostChannels = kLanes / 2;

#if HWY_TARGET != HWY_SCALAR
// Adds the halves of a vector until four lanes are left.
template <class D2, class V2>
HWY_INLINE auto fold(D2, V2 v) {
  if constexpr (hn::MaxLanes(D2()) <= kQuad) {
    return v;
  } else {
    const hn::Half<D2> half;
    return fold(half, hn::Add(hn::LowerHalf(half, v), hn::UpperHalf(half, v)));
  }
}

// Sums of the lanes of four vectors, as one vector. In every 16 bytes, interleaving and adding
// twice leaves a, b, c and e in lanes 0 to 3; fold() adds the groups of 16 bytes.
HWY_INLINE auto sums_of(V a, V b, V c, V e) {
  const D d;
  const hn::RepartitionToWide<hn::RebindToUnsigned<D>> pairs;
  const V ab = hn::Add(hn::InterleaveLower(d, a, b), hn::InterleaveUpper(d, a, b));
  const V ce = hn::Add(hn::InterleaveLower(d, c, e), hn::InterleaveUpper(d, c, e));
  const auto x = hn::BitCast(pairs, ab), y = hn::BitCast(pairs, ce);
  return fold(d, hn::Add(hn::BitCast(d, hn::InterleaveLower(pairs, x, y)),
                         hn::BitCast(d, hn::InterleaveUpper(pairs, x, y))));
}
#endif

// Stores some pixels of output channel m, which are the lanes of v.
template <class D2, class V2>
HWY_INLINE void store(D2 d, const DotTile& tile, int64_t m, int64_t pixel, V2 v) {
  const int64_t at = m * tile.y_channel + pixel;
  v = hn::Add(v, hn::Set(d, tile.bias[m]));
  if (tile.addend != nullptr) v = hn::Add(v, hn::LoadU(d, tile.addend + at));
  hn::StoreU(at_most(hn::Set(d, tile.high), at_least(hn::Set(d, tile.low), v)), d, tile.y + at);
}

template <int kPixels, int kChannels>
HWY_INLINE void add_tap(const float* HWY_RESTRICT x, const float* HWY_RESTRICT w, int64_t apart,
                        V (&sum)[kPixels][kChannels]) {
  const D d;
  V weight[kChannels];
#pragma GCC unroll 8
  for (int m = 0; m < kChannels; ++m) weight[m] = hn::Load(d, w + m * kLanes);
#pragma GCC unroll 8
  for (int p = 0; p < kPixels; ++p) {
    const V pixel = hn::LoadU(d, x + p * apart);
#pragma GCC unroll 8
    for (int m = 0; m < kChannels; ++m) sum[p][m] = hn::MulAdd(pixel, weight[m], sum[p][m]);
  }
}

template <int kPixels, int kChannels>
void run_tile(const DotTile& tile) {
  const D d;
  V sum[kPixels][kChannels];
#pragma GCC unroll 8
  for (int p = 0; p < kPixels; ++p) {
#pragma GCC unroll 8
    for (int m = 0; m < kChannels; ++m) sum[p][m] = hn::Zero(d);
  }
  const float* w = tile.w;
  for (int64_t b = 0; b < tile.in_blocks; ++b) {
    for (int64_t row = 0; row < tile.tap_rows; ++row) {
      const float* x = tile.x + b * tile.x_block + row * tile.x_row;
      for (int64_t column = 0; column < tile.tap_columns; ++column) {
        add_tap<kPixels, kChannels>(x, w, tile.x_pixel, sum);
        x += tile.x_column;
        w += kChannels * kLanes;
      }
    }
  }
#if HWY_TARGET != HWY_SCALAR
  if constexpr (kPixels % kQuad == 0) {
    const hn::CappedTag<float, kQuad> quad;
#pragma GCC unroll 8
    for (int m = 0; m < kChannels; ++m) {
#pragma GCC unroll 8
      for (int p = 0; p < kPixels; p += kQuad) {
        store(quad, tile, m, p, sums_of(sum[p][m], sum[p + 1][m], sum[p + 2][m], sum[p + 3][m]));
      }
    }
    return;
  }
#endif
  const hn::CappedTag<float, 1> one;
  for (int m = 0; m < kChannels; ++m) {
    for (int p = 0; p < kPixels; ++p) {
      store(one, tile, m, p, hn::Set(one, hn::GetLane(hn::SumOfLanes(d, sum[p][m]))));
    }
  }
}

// Eight pixels where 8 * kChannels accumulators leave registers for weights and a pixel.
template <int kChannels>
constexpr int kManyPixels = kChannels <= (HWY_MAX_BYTES == 64 || HWY_TARGET == HWY_NEON ? 3 : 1)
                                ? 2 * kQuad
                                : kQuad;

template <int kChannels>
DotTileFunction function_for(int64_t length) {
  if (length >= kManyPixels<kChannels>) {
    return {kManyPixels<kChannels>, run_tile<kManyPixels<kChannels>, kChannels>};
  }
  if (length >= kQuad) return {kQuad, run_tile<kQuad, kChannels>};
  return {1, run_tile<1, kChannels>};
}

template <int kChannels>
DotTileFunction function_of(int64_t channels, int64_t length) {
  if constexpr (kChannels > kMostChannels) {
    return {};
  } else {
    if (channels == kChannels) return function_for<kChannels>(length);
    return function_of<kChannels + 1>(channels, length);
  }
}

DotTileFunction dot_tile_function_here(int64_t channels, int64_t length) {
  return function_of<1>(channels, length);
}

}  // namespace
}  // namespace shoal::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace shoal::cpu {

HWY_EXPORT(dot_tile_function_here);

DotTileFunction dot_tile_function(int64_t channels, int64_t length) {
  return HWY_DYNAMIC_DISPATCH(dot_tile_function_here)(channels, length);
}

}  // namespace shoal::cpu
#endif  // HWY_ONCE
