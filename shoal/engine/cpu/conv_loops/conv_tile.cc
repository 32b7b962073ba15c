// Direct convolution, the register block. For each tap and input channel the tile loads one vector
// of weights per block of output channels, broadcasts one float per pixel, and does pixels * blocks
// FMA. 14 x 2 (AVX-512) is 28 FMA for 16 loads, 6 x 2 (AVX2) is 12 FMA for 8. Both are limited by
// FMA as long as weights come from a cache: a panel of weights is read once per tile, which is 4 /
// pixels bytes per multiply-accumulate. Sums stay in registers from bias to finish, and y is
// written once.
#include <algorithm>
#include <limits>

#include "shoal/engine/cpu/conv_loops/conv_loops.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "shoal/engine/cpu/conv_loops/conv_tile.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "shoal/engine/cpu/conv_loops/finish-inl.h"

HWY_BEFORE_NAMESPACE();
namespace shoal::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

constexpr int64_t kLanes = HWY_LANES(float);

// NEON multiplies by a lane of a register, so that all channels of a pixel are one load. Elsewhere
// each channel is broadcast by its load, which costs no more than the load.
constexpr bool kByLane = HWY_TARGET == HWY_NEON;

// Accumulators, one row of weights and one pixel are live at once: 31 of 32 registers for 14 x 2,
// 16 of 16 for 4 x 3. With lanes it is all pixels and one weight, 29 at most: with 31, g++ 12
// spills in every block. Widths of feature maps are mostly multiples of 7, 8 or 13. No two sizes
// have the same pixels.
#if HWY_TARGET == HWY_NEON
constexpr TileSize kSizes[] = {{7, 3}, {5, 4}, {9, 2}, {13, 1}, {4, 4}, {1, 4}};
#elif HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL
constexpr TileSize kSizes[] = {{14, 2}, {13, 2}, {7, 4}, {16, 1}, {8, 3}, {4, 4}, {1, 4}};
#else
constexpr TileSize kSizes[] = {{6, 2}, {4, 3}, {7, 1}, {1, 4}};
#endif
constexpr size_t kSizeCount = std::size(kSizes);
static_assert(std::ranges::all_of(kSizes, [](TileSize s) { return s.blocks <= kMostTileBlocks; }));

// Processors that compute vectors of 64 bytes by halves take half the time for a half: six layers
// of 8 channels take 0.67 of the time. Others, and shorter vectors, gain nothing.
constexpr bool kHasNarrow = HWY_MAX_BYTES == 64;

// Adds the products of one input channel, which is lane kLane of every pixel.
template <int kLane, int kPixels, int kBlocks>
HWY_INLINE void add_lane(const V (&pixel)[kPixels], const float* HWY_RESTRICT w,
                         V (&sum)[kPixels][kBlocks]) {
  const D d;
#pragma GCC unroll 4
  for (int b = 0; b < kBlocks; ++b) {
    const V weight = hn::Load(d, w + (kLane * kBlocks + b) * kLanes);
#pragma GCC unroll 16
    for (int p = 0; p < kPixels; ++p) {
      sum[p][b] = hn::MulAdd(weight, hn::Broadcast<kLane>(pixel[p]), sum[p][b]);
    }
  }
}

// Adds the products of the four channels of a block. A tile of 7 by 3 loads 19 registers for its 84
// products; broadcasts would be 40 loads.
template <int kPixels, int kBlocks>
HWY_INLINE void add_lanes(const float* HWY_RESTRICT x, int64_t apart, const float* HWY_RESTRICT w,
                          V (&sum)[kPixels][kBlocks]) {
  const D d;
  V pixel[kPixels];
#pragma GCC unroll 16
  for (int p = 0; p < kPixels; ++p) pixel[p] = hn::LoadU(d, x + p * apart);
  add_lane<0>(pixel, w, sum);
  add_lane<1>(pixel, w, sum);
  add_lane<2>(pixel, w, sum);
  add_lane<3>(pixel, w, sum);
}

// Adds all taps of the channels of one block of the image. Returns the weights of the next block.
// S is the tag of sums: D, or half of it.
template <class S, int kPixels, int kBlocks, int kStep>
HWY_INLINE const float* add_block(const ConvTile& tile, const float* HWY_RESTRICT x,
                                  const float* HWY_RESTRICT w, int64_t channels, int64_t step,
                                  hn::Vec<S> (&sum)[kPixels][kBlocks]) {
  const S d;
  const int64_t apart = kStep > 0 ? kStep : step;
  for (int64_t row = 0; row < tile.tap_rows; ++row) {
    for (int64_t column = 0; column < tile.tap_columns; ++column) {
      const float* from = x + row * tile.x_row + column * tile.x_column;
      if constexpr (kByLane) {
        if (channels == kLanes) {
          add_lanes<kPixels, kBlocks>(from, apart, w, sum);
          w += kLanes * kBlocks * kLanes;
          continue;
        }
      }
      for (int64_t c = 0; c < channels; ++c, w += kBlocks * kLanes) {
        hn::Vec<S> weight[kBlocks];
#pragma GCC unroll 4
        for (int b = 0; b < kBlocks; ++b) weight[b] = hn::Load(d, w + b * kLanes);
#pragma GCC unroll 16
        for (int p = 0; p < kPixels; ++p) {
          const auto pixel = hn::Set(d, from[p * apart + c]);
#pragma GCC unroll 4
          for (int b = 0; b < kBlocks; ++b) sum[p][b] = hn::MulAdd(pixel, weight[b], sum[p][b]);
        }
      }
    }
  }
  return w;
}

template <int kPixels, int kBlocks>
HWY_INLINE void store(const ConvTile& tile, V (&sum)[kPixels][kBlocks]) {
  const D d;
#pragma GCC unroll 4
  for (int b = 0; b < kBlocks; ++b) {
    const Finisher finish(tile.finish, b);
    float* y = tile.y + b * tile.y_block;
#pragma GCC unroll 16
    for (int p = 0; p < kPixels; ++p) {
      V value = sum[p][b];
      if (tile.addend != nullptr) {
        value = hn::Add(value, hn::LoadU(d, tile.addend + b * tile.y_block + p * tile.y_pixel));
      }
      hn::StoreU(finish(value), d, y + p * tile.y_pixel);
    }
  }
}

template <class S, int kPixels, int kBlocks, int kStep>
HWY_INLINE void add_blocks(const ConvTile& tile, int64_t step,
                           hn::Vec<S> (&sum)[kPixels][kBlocks]) {
  const S d;
#pragma GCC unroll 4
  for (int b = 0; b < kBlocks; ++b) {
    const auto bias = tile.bias == nullptr ? hn::Zero(d) : hn::LoadU(d, tile.bias + b * kLanes);
#pragma GCC unroll 16
    for (int p = 0; p < kPixels; ++p) sum[p][b] = bias;
  }
  const float* w = tile.w;
  for (int64_t i = 0; i < tile.in_blocks; ++i) {
    const int64_t channels = i + 1 == tile.in_blocks ? tile.last_channels : tile.full_channels;
    w = add_block<S, kPixels, kBlocks, kStep>(tile, tile.x + i * tile.x_block, w, channels, step,
                                              sum);
  }
}

template <int kPixels, int kBlocks, int kStep>
void convolve_tile(const ConvTile& tile, int64_t step) {
  V sum[kPixels][kBlocks];
  add_blocks<D, kPixels, kBlocks, kStep>(tile, step, sum);
  store<kPixels, kBlocks>(tile, sum);
}

#if HWY_MAX_BYTES == 64
// The lower half of one block. The upper half becomes zero.
template <int kPixels, int kStep>
void convolve_narrow_tile(const ConvTile& tile, int64_t step) {
  hn::Vec<hn::Half<D>> half[kPixels][1];
  add_blocks<hn::Half<D>, kPixels, 1, kStep>(tile, step, half);
  V sum[kPixels][1];
#pragma GCC unroll 16
  for (int p = 0; p < kPixels; ++p) sum[p][0] = hn::ZeroExtendVector(D(), half[p][0]);
  store<kPixels, 1>(tile, sum);
}

template <int kPixels>
ConvTileFunction narrow_function_for(int64_t step) {
  if (step == kLanes) return convolve_narrow_tile<kPixels, kLanes>;
  return convolve_narrow_tile<kPixels, 0>;
}
#else
template <int kPixels>
ConvTileFunction narrow_function_for(int64_t) {
  return nullptr;
}
#endif

// Steps that are known at compile time make pixels immediate offsets of one address register: one
// or two pixels of a block of 4, 8 or 16, or of an image whose four channels are side by side.
template <int kPixels, int kBlocks>
ConvTileFunction function_for(int64_t step) {
  if (step == 4) return convolve_tile<kPixels, kBlocks, 4>;
  if (step == 8) return convolve_tile<kPixels, kBlocks, 8>;
  if (step == 16) return convolve_tile<kPixels, kBlocks, 16>;
  if (step == 32) return convolve_tile<kPixels, kBlocks, 32>;
  return convolve_tile<kPixels, kBlocks, 0>;
}

// Recursion over all sizes, and over fewer blocks of each, is the table of instantiations.
template <size_t kIndex, int kBlocks>
void add_functions(int64_t step, ConvTileFunctions& functions) {
  constexpr TileSize kSize = kSizes[kIndex];
  functions.whole[kBlocks] = function_for<kSize.pixels, kBlocks>(step);
  if constexpr (kBlocks < kSize.blocks) add_functions<kIndex, kBlocks + 1>(step, functions);
}

template <size_t kIndex>
ConvTileFunctions functions_of(int64_t pixels, int64_t step) {
  ConvTileFunctions functions;
  if (kSizes[kIndex].pixels == pixels) {
    add_functions<kIndex, 1>(step, functions);
    functions.narrow = narrow_function_for<kSizes[kIndex].pixels>(step);
  } else if constexpr (kIndex + 1 < kSizeCount) {
    functions = functions_of<kIndex + 1>(pixels, step);
  }
  return functions;
}

ConvTileFunctions conv_tile_functions_here(int64_t pixels, int64_t step) {
  return functions_of<0>(pixels, step);
}

OutBlocks out_blocks_of_here(int64_t channels) {
  const int64_t behind = channels % kLanes;
  const bool is_narrow = kHasNarrow && behind > 0 && behind <= kLanes / 2;
  const int64_t blocks = (channels + kLanes - 1) / kLanes;
  return {blocks - (is_narrow ? 1 : 0), is_narrow ? 1 : 0};
}

std::span<const TileSize> tile_sizes_here() { return kSizes; }
int64_t block_size_here() { return kLanes; }

}  // namespace
}  // namespace shoal::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace shoal::cpu {

HWY_EXPORT(conv_tile_functions_here);
HWY_EXPORT(out_blocks_of_here);
HWY_EXPORT(tile_sizes_here);
HWY_EXPORT(block_size_here);

int64_t block_size() { return HWY_DYNAMIC_DISPATCH(block_size_here)(); }
std::span<const TileSize> tile_sizes() { return HWY_DYNAMIC_DISPATCH(tile_sizes_here)(); }

ConvTileFunctions conv_tile_functions(int64_t pixels, int64_t step) {
  return HWY_DYNAMIC_DISPATCH(conv_tile_functions_here)(pixels, step);
}

OutBlocks out_blocks_of(int64_t channels) {
  return HWY_DYNAMIC_DISPATCH(out_blocks_of_here)(channels);
}

TileSize choose_tile(std::span<const TileSize> sizes, int64_t length, int64_t blocks) {
  TileSize best;
  double least = std::numeric_limits<double>::infinity();
  for (TileSize size : sizes) {
    if (size.pixels > length) continue;
    size.blocks = std::min(size.blocks, blocks);
    // Cost per input channel and tap: one unit for each FMA, kLoad for loads that do not hide
    // behind them. A tile at the end of a row overlaps the one before, so that partial tiles cost
    // as much as whole ones.
    constexpr double kLoad = 0.25;
    const int64_t count =
        (length + size.pixels - 1) / size.pixels * ((blocks + size.blocks - 1) / size.blocks);
    const auto tiles = static_cast<double>(count);
    const auto pixels = static_cast<double>(size.pixels), wide = static_cast<double>(size.blocks);
    const double cost = tiles * (pixels * wide + kLoad * (pixels + 2 * wide));
    if (cost < least) {
      least = cost;
      best = size;
    }
  }
  return best;
}

}  // namespace shoal::cpu
#endif  // HWY_ONCE
