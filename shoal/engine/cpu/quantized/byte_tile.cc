// Direct convolution of bytes, the register block. For each tap and group of four input channels
// the tile loads one vector of weights per block and broadcasts four bytes per pixel; each dot
// product does 4 * lanes multiply-accumulates, four times those of a float FMA. The epilogue
// requantises sums in registers. Sums wrap modulo 2^32 like those of the reference.
//
// With i8mm of ARM, one instruction multiplies matrices, [2 pixels][8] by [8][2 output channels],
// and does twice the work of a dot product. The eight channels of a pixel are in two blocks of the
// image; interleaving the lanes of both puts them side by side.
#include <algorithm>
#include <iterator>

#include "shoal/engine/cpu/quantized/byte_loops.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "shoal/engine/cpu/quantized/byte_tile.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "shoal/engine/cpu/quantized/requantize-inl.h"
// After the vectors' types.
#include "shoal/engine/cpu/quantized/byte_dot-inl.h"

HWY_BEFORE_NAMESPACE();
namespace shoal::cpu::HWY_NAMESPACE {
namespace {

// Accumulators, one row of weights and one pixel are live at once: 14 * 2 + 2 + 1 = 31 of 32
// registers. Widened weights and pixels take two registers each, which leaves registers for smaller
// tiles.
#if SHOAL_AVX512
constexpr TileSize kQuadSizes[] = {{14, 2}, {8, 3}, {7, 4}, {6, 4}, {4, 4}, {1, 4}};
constexpr TileSize kPairSizes[] = {{14, 1}, {7, 3}, {4, 4}, {1, 4}};
#elif SHOAL_NEON
[[maybe_unused]] constexpr TileSize kQuadSizes[] = {{8, 3}, {12, 2}, {7, 3},
                                                    {6, 4}, {4, 4},  {1, 4}};
constexpr TileSize kPairSizes[] = {{14, 1}, {7, 3}, {4, 4}, {1, 4}};
[[maybe_unused]] constexpr TileSize kOctetSizes[] = {{8, 3}, {4, 4}, {1, 4}};
#else
constexpr TileSize kPairSizes[] = {{4, 2}, {7, 1}, {1, 2}};
#endif

// Adds pixels from kFirst on, four at a time; the last four overlap those before.
template <class Dot, int kFirst, int kPixels, int kBlocks>
HWY_INLINE void add_fours(const uint8_t* HWY_RESTRICT x,
                          const typename Dot::Weights (&weights)[kBlocks],
                          VI (&sum)[kBlocks][kPixels]) {
  constexpr int kFrom = std::min(kFirst, kPixels - 4);
  const typename Dot::Four four = Dot::load_four(x + kFrom * kGroup);
#pragma GCC unroll 4
  for (int b = 0; b < kBlocks; ++b) {
    if constexpr (kFirst <= kFrom) Dot::template add_lane<0>(sum[b][kFrom], four, weights[b]);
    if constexpr (kFirst <= kFrom + 1) {
      Dot::template add_lane<1>(sum[b][kFrom + 1], four, weights[b]);
    }
    if constexpr (kFirst <= kFrom + 2) {
      Dot::template add_lane<2>(sum[b][kFrom + 2], four, weights[b]);
    }
    Dot::template add_lane<3>(sum[b][kFrom + 3], four, weights[b]);
  }
  if constexpr (kFirst + 4 < kPixels) add_fours<Dot, kFirst + 4>(x, weights, sum);
}

template <class Dot, int kPixels, int kBlocks, int kStep>
HWY_INLINE const int8_t* add_taps(const ByteTile& tile, const uint8_t* HWY_RESTRICT x,
                                  const int8_t* HWY_RESTRICT w, int64_t groups, int64_t step,
                                  VI (&sum)[kBlocks][kPixels]) {
  constexpr bool kByLane = SHOAL_NEON && kStep == kGroup && kPixels >= 4;
  const int64_t apart = kStep > 0 ? kStep : step;
  if (kLanes == kGroup) groups = 1;  // for the compiler: a block is one
  for (int64_t row = 0; row < tile.tap_rows; ++row) {
    for (int64_t column = 0; column < tile.tap_columns; ++column) {
      const uint8_t* from = x + row * tile.x_row + column * tile.x_column;
      for (int64_t g = 0; g < groups; ++g, from += kGroup, w += kBlocks * kLanes * kGroup) {
        typename Dot::Weights weights[kBlocks];
#pragma GCC unroll 4
        for (int b = 0; b < kBlocks; ++b) {
          weights[b] = Dot::load_weights(w + b * kLanes * kGroup);
        }
        if constexpr (kByLane) {
          add_fours<Dot, 0>(from, weights, sum);
          continue;
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

template <class Dot>
struct DotTile : Dot {
  static constexpr int64_t kChannels = kGroup;

  template <int kPixels, int kBlocks, int kStep>
  static void convolve(const ByteTile& tile, int64_t step) {
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
};

#if SHOAL_NEON_DOT
// A tile by products of matrices. An accumulator is [2 pixels][2 output channels], so that a block
// of output channels has two for each pair of pixels.
struct OctetTile {
  static constexpr int64_t kChannels = 8;
  static constexpr int32_t kPixelOffset = 0;
  static constexpr bool kChannelsFirst = true;

  static bool is_here() { return has(Extension::kMatrixProduct); }

  template <int kPixels, int kBlocks, int kStep>
  static void convolve(const ByteTile& tile, int64_t step) {
    constexpr int kPairs = (kPixels + 1) / 2;
    int32x4_t sum[kBlocks][2][kPairs];
#pragma GCC unroll 8
    for (int i = 0; i < 2 * kBlocks; ++i) {
      const int32x2_t bias = vld1_s32(tile.bias + 2 * i);
#pragma GCC unroll 8
      for (int p = 0; p < kPairs; ++p) sum[i / 2][i % 2][p] = vcombine_s32(bias, bias);
    }
    const int8_t* w = tile.w;
    for (int64_t i = 0; i < tile.in_blocks; i += 2) {
      // A second block that is not there has no weights but zeros.
      const int64_t second = i + 1 < tile.in_blocks ? tile.x_block : 0;
      w = add_taps<kPixels, kBlocks, kStep>(tile, tile.x + i * tile.x_block, second, w, step, sum);
    }
    VI in_order[kBlocks][kPixels];
#pragma GCC unroll 4
    for (int b = 0; b < kBlocks; ++b) {
#pragma GCC unroll 16
      for (int p = 0; p < kPixels; ++p) {
        const int64x2_t left = vreinterpretq_s64_s32(sum[b][0][p / 2]);
        const int64x2_t right = vreinterpretq_s64_s32(sum[b][1][p / 2]);
        in_order[b][p].raw =
            vreinterpretq_s32_s64(p % 2 == 0 ? vzip1q_s64(left, right) : vzip2q_s64(left, right));
      }
    }
    store<kPixels, kBlocks>(tile, in_order);
  }

 private:
  template <int kPixels, int kBlocks, int kStep, int kPairs>
  static HWY_INLINE const int8_t* add_taps(const ByteTile& tile, const uint8_t* HWY_RESTRICT x,
                                           int64_t second, const int8_t* HWY_RESTRICT w,
                                           int64_t step, int32x4_t (&sum)[kBlocks][2][kPairs]) {
    for (int64_t row = 0; row < tile.tap_rows; ++row) {
      for (int64_t column = 0; column < tile.tap_columns; ++column) {
        const uint8_t* from = x + row * tile.x_row + column * tile.x_column;
        uint32x4_t pixels[kPairs];
        load_pairs<kStep>(from, from + second, kStep > 0 ? kStep : step, pixels);
#pragma GCC unroll 8
        for (int i = 0; i < 2 * kBlocks; ++i, w += 2 * kChannels) {
          const int8x16_t weights = vld1q_s8(w);
#pragma GCC unroll 8
          for (int p = 0; p < kPairs; ++p) add(sum[i / 2][i % 2][p], pixels[p], weights);
        }
      }
    }
    return w;
  }

  // Pairs of pixels, [2][8], whose channels come four by four from a and b. A single pixel is both
  // of its pair.
  template <int kStep, int kPairs>
  static HWY_INLINE void load_pairs(const uint8_t* a, const uint8_t* b, int64_t apart,
                                    uint32x4_t (&pixels)[kPairs]) {
    if constexpr (kPairs == 1) {
      pixels[0] = vzip1q_u32(vdupq_n_u32(load_quad(a)), vdupq_n_u32(load_quad(b)));
    } else {
#pragma GCC unroll 8
      for (int p = 0; p < kPairs; p += 2) {
        const uint32x4_t first = load_four<kStep>(a + 2 * p * apart, apart);
        const uint32x4_t second = load_four<kStep>(b + 2 * p * apart, apart);
        pixels[p] = vzip1q_u32(first, second);
        pixels[p + 1] = vzip2q_u32(first, second);
      }
    }
  }

  template <int kStep>
  static HWY_INLINE uint32x4_t load_four(const uint8_t* x, int64_t apart) {
    if constexpr (kStep == kGroup) return vreinterpretq_u32_u8(vld1q_u8(x));
    uint32x4_t four = vdupq_n_u32(load_quad(x));
    four = vsetq_lane_u32(load_quad(x + apart), four, 1);
    four = vsetq_lane_u32(load_quad(x + 2 * apart), four, 2);
    return vsetq_lane_u32(load_quad(x + 3 * apart), four, 3);
  }

  // u8 by i8.
  static HWY_INLINE void add(int32x4_t& sum, uint32x4_t x, int8x16_t w) {
    asm(SHOAL_ARM_ASM("usmmla %0.4s, %1.16b, %2.16b") : "+w"(sum) : "w"(x), "w"(w));
  }
};
#endif  // SHOAL_NEON_DOT

// Steps that are known at compile time make pixels immediate offsets of one address register: one
// or two pixels of a block, or of an image whose four channels are side by side.
template <class Tile, int kPixels, int kBlocks>
ByteTileFunction function_for(int64_t step) {
  if (step == kLanes) return Tile::template convolve<kPixels, kBlocks, kLanes>;
  if (step == 2 * kLanes) return Tile::template convolve<kPixels, kBlocks, 2 * kLanes>;
  if (step == kGroup) return Tile::template convolve<kPixels, kBlocks, kGroup>;
  if (step == 2 * kGroup) return Tile::template convolve<kPixels, kBlocks, 2 * kGroup>;
  return Tile::template convolve<kPixels, kBlocks, 0>;
}

template <class Tile, const auto& kSizes, size_t kIndex, int kBlocks>
ByteTileFunction function_of(TileSize size, int64_t step) {
  constexpr TileSize kSize = kSizes[kIndex];
  if (size.pixels == kSize.pixels && size.blocks == kBlocks) {
    return function_for<Tile, kSize.pixels, kBlocks>(step);
  }
  if constexpr (kBlocks < kSize.blocks) {
    return function_of<Tile, kSizes, kIndex, kBlocks + 1>(size, step);
  } else if constexpr (kIndex + 1 < std::size(kSizes)) {
    return function_of<Tile, kSizes, kIndex + 1, 1>(size, step);
  } else {
    return nullptr;
  }
}

template <class Tile, const auto& kSizes>
ByteTiles tiles_of() {
  return {kSizes, function_of<Tile, kSizes, 0, 1>, Tile::kPixelOffset, Tile::kChannels,
          Tile::kChannelsFirst};
}

ByteTiles byte_tiles_here(ByteDot dot) {
#if SHOAL_NEON_DOT
  if (dot == ByteDot::kOctets && OctetTile::is_here()) return tiles_of<OctetTile, kOctetSizes>();
#endif
#if SHOAL_QUAD_DOT
  if (dot == ByteDot::kQuads && QuadDot::is_here()) return tiles_of<DotTile<QuadDot>, kQuadSizes>();
#endif
  // A block must hold whole groups of channels.
  if (dot != ByteDot::kPairs || kLanes % kGroup != 0) return {};
  return tiles_of<DotTile<PairDot>, kPairSizes>();
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
