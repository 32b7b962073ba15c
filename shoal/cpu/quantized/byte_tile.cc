// Direct convolution of bytes, the register block. For each tap and group of four input channels
// the tile loads one vector of weights per block and broadcasts four bytes per pixel; each dot
// product does 4 * lanes multiply-accumulates, four times those of a float FMA. The epilogue
// requantises sums in registers. Sums wrap modulo 2^32 like those of the reference.
#include "shoal/cpu/quantized/byte_tile.h"

#include <algorithm>
#include <iterator>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "shoal/cpu/quantized/byte_tile.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "shoal/cpu/quantized/requantize-inl.h"
// After the vectors' types.
#include "shoal/cpu/quantized/byte_dot-inl.h"

HWY_BEFORE_NAMESPACE();
namespace shoal::cpu::HWY_NAMESPACE {
namespace {

// Accumulators, one row of weights and one pixel are live at once: 14 * 2 + 2 + 1 = 31 of 32
// registers. Widened weights and pixels take two registers each, which leaves room for smaller
// tiles.
#if SHOAL_AVX512 || HWY_TARGET == HWY_NEON
constexpr TileSize kQuadSizes[] = {{14, 2}, {8, 3}, {7, 4}, {6, 4}, {4, 4}, {1, 4}};
constexpr TileSize kPairSizes[] = {{14, 1}, {7, 3}, {4, 4}, {1, 4}};
#else
constexpr TileSize kPairSizes[] = {{4, 2}, {7, 1}, {1, 2}};
#endif

template <class Dot, int kPixels, int kBlocks, int kStep>
HWY_INLINE const int8_t* add_taps(const ByteTile& tile, const uint8_t* HWY_RESTRICT x,
                                  const int8_t* HWY_RESTRICT w, int64_t groups, int64_t step,
                                  VI (&sum)[kBlocks][kPixels]) {
  const int64_t apart = kStep > 0 ? kStep : step;
  for (int64_t row = 0; row < tile.tap_rows; ++row) {
    for (int64_t column = 0; column < tile.tap_columns; ++column) {
      const uint8_t* from = x + row * tile.x_row + column * tile.x_column;
      for (int64_t g = 0; g < groups; ++g, from += kGroup, w += kBlocks * kLanes * kGroup) {
        typename Dot::Weights weights[kBlocks];
#pragma GCC unroll 4
        for (int b = 0; b < kBlocks; ++b) {
          weights[b] = Dot::load_weights(w + b * kLanes * kGroup);
        }
#pragma GCC unroll 16
        for (int p = 0; p < kPixels; ++p) {
          const typename Dot::Pixel pixel = Dot::load_pixel(from + p * apart);
#pragma GCC unroll 4
          for (int b = 0; b < kBlocks; ++b) Dot::add(sum[b][p], pixel, weights[b]);
        }
      }
    }
  }
  return w;
}

template <int kPixels, int kBlocks>
HWY_INLINE void store(const ByteTile& tile, VI (&sum)[kBlocks][kPixels]) {
#pragma GCC unroll 4
  for (int b = 0; b < kBlocks; ++b) {
    const int64_t at = b * tile.y_block;
    requantize(tile.finish, sum[b], hn::LoadU(DF(), tile.scale + b * kLanes),
               tile.residual == nullptr ? nullptr : tile.residual + at, tile.y + at);
  }
}

template <class Dot, int kPixels, int kBlocks, int kStep>
void convolve_tile(const ByteTile& tile, int64_t step) {
  VI sum[kBlocks][kPixels];
#pragma GCC unroll 4
  for (int b = 0; b < kBlocks; ++b) {
    const VI bias = hn::LoadU(DI(), tile.bias + b * kLanes);
#pragma GCC unroll 16
    for (int p = 0; p < kPixels; ++p) sum[b][p] = bias;
  }
  const int8_t* w = tile.w;
  for (int64_t i = 0; i < tile.in_blocks; ++i) {
    const int64_t groups = i + 1 == tile.in_blocks ? tile.last_groups : tile.full_groups;
    w = add_taps<Dot, kPixels, kBlocks, kStep>(tile, tile.x + i * tile.x_block, w, groups, step,
                                               sum);
  }
  store<kPixels, kBlocks>(tile, sum);
}

// Steps that are known at compile time make pixels immediate offsets of one address register: one
// or two pixels of a block, or of an image whose four channels are side by side.
template <class Dot, int kPixels, int kBlocks>
ByteTileFunction function_for(int64_t step) {
  if (step == kLanes) return convolve_tile<Dot, kPixels, kBlocks, kLanes>;
  if (step == 2 * kLanes) return convolve_tile<Dot, kPixels, kBlocks, 2 * kLanes>;
  if (step == kGroup) return convolve_tile<Dot, kPixels, kBlocks, kGroup>;
  if (step == 2 * kGroup) return convolve_tile<Dot, kPixels, kBlocks, 2 * kGroup>;
  return convolve_tile<Dot, kPixels, kBlocks, 0>;
}

template <class Dot, const auto& kSizes, size_t kIndex, int kBlocks>
ByteTileFunction function_of(TileSize size, int64_t step) {
  constexpr TileSize kSize = kSizes[kIndex];
  if (size.pixels == kSize.pixels && size.blocks == kBlocks) {
    return function_for<Dot, kSize.pixels, kBlocks>(step);
  }
  if constexpr (kBlocks < kSize.blocks) {
    return function_of<Dot, kSizes, kIndex, kBlocks + 1>(size, step);
  } else if constexpr (kIndex + 1 < std::size(kSizes)) {
    return function_of<Dot, kSizes, kIndex + 1, 1>(size, step);
  } else {
    return nullptr;
  }
}

template <class Dot, const auto& kSizes>
ByteTiles tiles_of() {
  return {kSizes, function_of<Dot, kSizes, 0, 1>, Dot::kPixelOffset, Dot::kChannelsFirst};
}

ByteTiles byte_tiles_here(ByteDot dot) {
#if SHOAL_AVX512 || SHOAL_NEON_DOT
  if (dot == ByteDot::kQuads)
    return QuadDot::is_here() ? tiles_of<QuadDot, kQuadSizes>() : ByteTiles();
#endif
  // A block must hold whole groups of channels.
  if (dot == ByteDot::kQuads || kLanes % kGroup != 0) return {};
  return tiles_of<PairDot, kPairSizes>();
}

}  // namespace
}  // namespace shoal::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace shoal::cpu {

HWY_EXPORT(byte_tiles_here);

ByteTiles byte_tiles(ByteDot dot) { return HWY_DYNAMIC_DISPATCH(byte_tiles_here)(dot); }

}  // namespace shoal::cpu
#endif  // HWY_ONCE
