// Grouped convolution, the register block. Lane i of the output belongs to group i / kChannels and
// needs input channel c of that group for c in [0, kChannels): a permutation that repeats channel c
// of every group across the group. Each tap of a pixel costs one load, kChannels permutations and
// kChannels FMA; the weights of a tap are loaded once for all pixels of the tile.
#include "shoal/engine/cpu/conv_loops/conv_loops.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "shoal/engine/cpu/conv_loops/group_tile.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "shoal/engine/cpu/conv_loops/finish-inl.h"

HWY_BEFORE_NAMESPACE();
namespace shoal::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;
using Indices = decltype(hn::IndicesFromVec(D(), hn::Zero(hn::RebindToSigned<D>())));

constexpr int64_t kLanes = HWY_LANES(float);

// Copies channel `c` of every group to all lanes of the group.
template <int kChannels>
class Spread {
 public:
  Spread() {
    const hn::RebindToSigned<D> d;
    for (int c = 0; c < kChannels; ++c) {
      HWY_ALIGN int32_t from[kLanes];
      for (int i = 0; i < kLanes; ++i) from[i] = i / kChannels * kChannels + c;
      indices_[c] = hn::IndicesFromVec(D(), hn::Load(d, from));
    }
  }
  HWY_INLINE V operator()(V pixel, int c) const { return hn::TableLookupLanes(pixel, indices_[c]); }

 private:
  Indices indices_[kChannels];
};

#if HWY_TARGET != HWY_SCALAR
// Groups of four are 16 bytes, within which Broadcast works: an immediate instead of index
// registers.
template <>
class Spread<4> {
 public:
  HWY_INLINE V operator()(V pixel, int c) const {
    return c == 0   ? hn::Broadcast<0>(pixel)
           : c == 1 ? hn::Broadcast<1>(pixel)
           : c == 2 ? hn::Broadcast<2>(pixel)
                    : hn::Broadcast<3>(pixel);
  }
};
#endif

template <int kPixels, int kChannels>
void run_tile(const GroupTile& tile) {
  const D d;
  const Spread<kChannels> spread;
  V sum[kPixels];
#pragma GCC unroll 8
  for (int p = 0; p < kPixels; ++p) sum[p] = hn::LoadU(d, tile.bias);
  const float* w = tile.w;
  for (int64_t row = 0; row < tile.tap_rows; ++row) {
    const float* x = tile.x + row * tile.x_row;
    for (int64_t column = 0; column < tile.tap_columns; ++column) {
      V weight[kChannels];
#pragma GCC unroll 8
      for (int c = 0; c < kChannels; ++c) weight[c] = hn::LoadU(d, w + c * kLanes);
#pragma GCC unroll 8
      for (int p = 0; p < kPixels; ++p) {
        const V pixel = hn::LoadU(d, x + p * tile.x_pixel);
#pragma GCC unroll 8
        for (int c = 0; c < kChannels; ++c) {
          sum[p] = hn::MulAdd(spread(pixel, c), weight[c], sum[p]);
        }
      }
      x += tile.x_column;
      w += kChannels * kLanes;
    }
  }
  const Finisher finish(tile.finish, 0);
#pragma GCC unroll 8
  for (int p = 0; p < kPixels; ++p) {
    V value = sum[p];
    if (tile.addend != nullptr) value = hn::Add(value, hn::LoadU(d, tile.addend + p * kLanes));
    hn::StoreU(finish(value), d, tile.y + p * kLanes);
  }
}

template <int kChannels>
GroupTileFunction function_for(int64_t length) {
  if constexpr (kChannels < kLanes) {
    // Eight accumulators are independent chains, enough to hide the latency of FMA.
    constexpr int kMany = 8, kFew = 4;
    if (length >= kMany) return {kMany, run_tile<kMany, kChannels>};
    if (length >= kFew) return {kFew, run_tile<kFew, kChannels>};
    return {1, run_tile<1, kChannels>};
  } else {
    return {};
  }
}

GroupTileFunction group_tile_function_here(int64_t channels, int64_t length) {
  if (channels == 2) return function_for<2>(length);
  if (channels == 4) return function_for<4>(length);
  if (channels == 8) return function_for<8>(length);
  return {};
}

}  // namespace
}  // namespace shoal::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace shoal::cpu {

HWY_EXPORT(group_tile_function_here);

GroupTileFunction group_tile_function(int64_t channels, int64_t length) {
  return HWY_DYNAMIC_DISPATCH(group_tile_function_here)(channels, length);
}

}  // namespace shoal::cpu
#endif  // HWY_ONCE
