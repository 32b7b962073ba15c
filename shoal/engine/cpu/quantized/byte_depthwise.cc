// Depthwise convolution of bytes. Dot-product instructions add four products within each lane of 32
// bits, but the four neighbouring pixels of one channel lie b bytes apart. A byte transposition of
// four pixels, [4][b] to [b][4], brings them together; each quad of taps then is one instruction
// per output for b channels. With stride 1, two neighbouring outputs share the transposed pixels:
// their taps span columns + 1 pixels. Dilated or wide kernels, and targets without byte shuffles,
// convert to floats, which are exact (kMostExactTaps).
#include <algorithm>
#include <array>
#include <type_traits>

#include "shoal/engine/cpu/quantized/byte_loops.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "shoal/engine/cpu/quantized/byte_depthwise.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "shoal/engine/cpu/quantized/requantize-inl.h"
// After the vectors' types.
#include "shoal/engine/cpu/quantized/byte_dot-inl.h"

HWY_BEFORE_NAMESPACE();
namespace shoal::cpu::HWY_NAMESPACE {
namespace {

// Calls convolve(pixels of the tile, first pixel) so that tiles cover the row. The last tile
// overlaps the one before instead of being partial; rows shorter than a small tile go pixel by
// pixel.
template <int kMany, int kFew, class F>
HWY_INLINE void for_each_tile(int64_t pixels, const F& convolve) {
  int64_t i = 0;
  for (; i + kMany <= pixels; i += kMany) convolve(std::integral_constant<int, kMany>(), i);
  if (pixels < kFew) {
    for (; i < pixels; ++i) convolve(std::integral_constant<int, 1>(), i);
  }
  for (; i < pixels; i += kFew)
    convolve(std::integral_constant<int, kFew>(), std::min(i, pixels - kFew));
}

template <int kPixels>
HWY_INLINE void finish(const ByteDepthwise& row, int64_t pixel, const VI (&sum)[kPixels]) {
  const int64_t at = pixel * kLanes;
  requantize(row.finish, sum, hn::LoadU(DF(), row.scale),
             row.residual == nullptr ? nullptr : row.residual + at, row.y + at);
}

// Tap by tap, accumulated in floats.
template <int kPixels>
HWY_INLINE void convolve_floats(const ByteDepthwise& row, int64_t pixel) {
  const DF d;
  VF sum[kPixels];
  for (VF& s : sum) s = hn::Zero(d);
  const auto* w = static_cast<const float*>(row.w);
  for (int64_t r = 0; r < row.tap_rows; ++r) {
    for (int64_t c = 0; c < row.tap_columns; ++c, w += kLanes) {
      const uint8_t* x = row.x + r * row.x_row + c * row.x_column + pixel * row.step;
      const VF weight = hn::LoadU(d, w);
#pragma GCC unroll 8
      for (int p = 0; p < kPixels; ++p) {
        const VI bytes = hn::PromoteTo(DI(), hn::LoadU(DB(), x + p * row.step));
        sum[p] = hn::MulAdd(weight, hn::ConvertTo(d, bytes), sum[p]);
      }
    }
  }
  VI sums[kPixels];
  for (int p = 0; p < kPixels; ++p) {
    sums[p] = hn::Add(nearest(sum[p]), hn::LoadU(DI(), row.bias));
  }
  finish(row, pixel, sums);
}

void convolve_row_of_floats(const ByteDepthwise& row) {
  for_each_tile<4, 4>(row.pixels, [&](auto pixels, int64_t pixel) {
    convolve_floats<decltype(pixels)::value>(row, pixel);
  });
}

#if SHOAL_X86_VECTORS || SHOAL_NEON_DOT

// Transposes four neighbouring pixels, [4][b], to quads, [b][4]: lanes of 32 bits move to the
// 16-byte part that has their channels, then bytes move within each part.
struct TurnInParts {
  static HWY_INLINE VI load(const uint8_t* x) {
    const hn::Repartition<uint8_t, DI> d8;
    VI pixels = hn::BitCast(DI(), hn::LoadU(d8, x));
#if SHOAL_AVX512 || HWY_TARGET == HWY_AVX2
    constexpr int32_t kParts = kLanes / 4;
    HWY_ALIGN int32_t order[kLanes];
    for (int32_t i = 0; i < kLanes; ++i) order[i] = i % 4 * kParts + i / 4;
    pixels = hn::TableLookupLanes(pixels, hn::SetTableIndices(DI(), order));
#endif
    alignas(16) static constexpr uint8_t kTurn[16] = {0, 4, 8,  12, 1, 5, 9,  13,
                                                      2, 6, 10, 14, 3, 7, 11, 15};
    return hn::BitCast(DI(),
                       hn::TableLookupBytes(hn::BitCast(d8, pixels), hn::LoadDup128(d8, kTurn)));
  }
};

#if SHOAL_AVX512
// The same by one instruction of AVX-512 VBMI. Inline assembly, because HWY_AVX3 is compiled
// without that extension.
struct TurnAtOnce {
  static bool is_here() { return has(Extension::kBytePermute); }
  static HWY_INLINE VI load(const uint8_t* x) {
    alignas(64) static constexpr auto kOrder = [] {
      std::array<uint8_t, 64> order{};
      for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<uint8_t>(i % 4 * 16 + i / 4);
      return order;
    }();
    const __m512i pixels = _mm512_loadu_si512(x), order = _mm512_load_si512(kOrder.data());
    VI quads;
    asm("vpermb %1, %2, %0" : "=v"(quads.raw) : "v"(pixels), "v"(order));
    return quads;
  }
};
#endif

template <class Dot, class Turn, int kSteps, int kOutputs>
HWY_INLINE void convolve_quads(const ByteDepthwise& row, int64_t quads, int64_t weight_step,
                               int64_t pixel) {
  constexpr int64_t kWeights = kLanes * 4;  // bytes in one vector of them
  VI sum[kSteps * kOutputs];
  for (VI& s : sum) s = hn::LoadU(DI(), row.bias);
  const auto* w = static_cast<const int8_t*>(row.w);
  for (int64_t r = 0; r < row.tap_rows; ++r) {
    for (int64_t q = 0; q < quads; ++q, w += weight_step) {
      const uint8_t* x = row.x + r * row.x_row + q * 4 * kLanes + pixel * row.step;
      typename Dot::Weights weights[kOutputs];
      for (int o = 0; o < kOutputs; ++o) weights[o] = Dot::load_weights(w + o * kWeights);
#pragma GCC unroll 8
      for (int s = 0; s < kSteps; ++s) {
        const auto quad = Dot::pixel_of(Turn::load(x + s * kOutputs * row.step));
#pragma GCC unroll 2
        for (int o = 0; o < kOutputs; ++o) Dot::add(sum[s * kOutputs + o], quad, weights[o]);
      }
    }
  }
  finish(row, pixel, sum);
}

// Quads that cover a number of neighbouring taps.
constexpr int64_t quads_for(int64_t taps) { return (taps + 3) / 4; }

template <class Dot, class Turn>
void convolve_row_of_pairs(const ByteDepthwise& row) {
  const int64_t quads = quads_for(row.tap_columns + 1);
  for_each_tile<8, 2>(row.pixels, [&](auto pixels, int64_t pixel) {
    constexpr int kPixels = decltype(pixels)::value;
    if constexpr (kPixels == 1) {
      convolve_quads<Dot, Turn, 1, 1>(row, quads, 2 * kLanes * 4, pixel);
    } else {
      convolve_quads<Dot, Turn, kPixels / 2, 2>(row, quads, 2 * kLanes * 4, pixel);
    }
  });
}

template <class Dot, class Turn>
void convolve_row_of_pixels(const ByteDepthwise& row) {
  for_each_tile<8, 4>(row.pixels, [&](auto pixels, int64_t pixel) {
    convolve_quads<Dot, Turn, decltype(pixels)::value, 1>(row, quads_for(row.tap_columns),
                                                          kLanes * 4, pixel);
  });
}

template <class Dot, class Turn>
DepthwiseFunction quad_function(int64_t columns, int64_t stride) {
  if (stride == 1) {
    return {convolve_row_of_pairs<Dot, Turn>, true, quads_for(columns + 1), 2, Dot::kPixelOffset};
  }
  return {convolve_row_of_pixels<Dot, Turn>, true, quads_for(columns), 1, Dot::kPixelOffset};
}

#endif  // SHOAL_X86_VECTORS || SHOAL_NEON_DOT

DepthwiseFunction depthwise_function_here([[maybe_unused]] int64_t columns,
                                          [[maybe_unused]] int64_t stride,
                                          [[maybe_unused]] int64_t dilation) {
  // Wider kernels are rare and are computed in floats.
  [[maybe_unused]] const bool are_neighbours = dilation == 1 && columns <= 8;
#if SHOAL_AVX512
  if (are_neighbours && QuadDot::is_here() && TurnAtOnce::is_here()) {
    return quad_function<QuadDot, TurnAtOnce>(columns, stride);
  }
#endif
#if SHOAL_QUAD_DOT
  if (are_neighbours && QuadDot::is_here()) {
    return quad_function<QuadDot, TurnInParts>(columns, stride);
  }
#endif
#if SHOAL_X86_VECTORS
  if (are_neighbours) return quad_function<PairDot, TurnInParts>(columns, stride);
#endif
  return {convolve_row_of_floats, false, 0, 1, 0};
}

}  // namespace
}  // namespace shoal::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace shoal::cpu {

HWY_EXPORT(depthwise_function_here);

DepthwiseFunction depthwise_function(int64_t columns, int64_t stride, int64_t dilation) {
  return HWY_DYNAMIC_DISPATCH(depthwise_function_here)(columns, stride, dilation);
}

}  // namespace shoal::cpu
#endif  // HWY_ONCE
