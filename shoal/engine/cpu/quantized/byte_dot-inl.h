// Dot products of four bytes, u8 by i8, accumulated in each lane of 32 bits. Included once per
// instruction set, between the lines that open and close its namespace, after requantize-inl.h.
//
// QuadDot is one instruction (VNNI, or dotprod of ARM). PairDot widens bytes to 16 bits first: a
// pair of products of u8 and i8 reaches 65,280, and the instructions that add such pairs in 16 bits
// saturate.
//
// NEON multiplies by a lane of a register. Its forms also take `Four`, four neighbouring pixels of
// four channels that are one load, and one of them as the pixel (add_lane).
#if defined(SHOAL_CPU_BYTE_DOT_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef SHOAL_CPU_BYTE_DOT_INL_H
#undef SHOAL_CPU_BYTE_DOT_INL_H
#else
#define SHOAL_CPU_BYTE_DOT_INL_H
#endif

#include <hwy/highway.h>

#include <cstring>

#include "shoal/engine/cpu/instruction_set.h"

#if HWY_ARCH_ARM_A64
#include <arm_neon.h>
#endif

HWY_BEFORE_NAMESPACE();
namespace shoal::cpu::HWY_NAMESPACE {
namespace {

#define SHOAL_X86_VECTORS                                                        \
  (HWY_TARGET == HWY_SSE4 || HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3 || \
   HWY_TARGET == HWY_AVX3_DL)
#define SHOAL_NEON (HWY_TARGET == HWY_NEON && HWY_ARCH_ARM_A64)
// Inline assembly uses instructions beyond the file's target and names their architecture to the
// assembler. clang 14 ignores that, so its kernels do without.
#define SHOAL_ARM_ASM(text) ".arch armv8.6-a\n\t" text
#if defined(__clang__)
#define SHOAL_NEON_DOT 0
#else
#define SHOAL_NEON_DOT SHOAL_NEON
#endif
#define SHOAL_QUAD_DOT (SHOAL_AVX512 || SHOAL_NEON_DOT)

HWY_INLINE uint32_t load_quad(const uint8_t* x) {
  uint32_t quad;
  std::memcpy(&quad, x, sizeof quad);
  return quad;
}

#if SHOAL_AVX512
// One vpdpbusd, as inline assembly: with the intrinsic, g++ 12 keeps moving accumulators to other
// registers and to the stack.
struct QuadDot {
  using Weights = VI;
  using Pixel = VI;
  static constexpr int32_t kPixelOffset = 0;
  static constexpr bool kChannelsFirst = true;

  static bool is_here() { return has(Extension::kDotProduct); }
  static HWY_INLINE Weights load_weights(const int8_t* w) {
    return hn::BitCast(DI(), hn::LoadU(hn::Repartition<int8_t, DI>(), w));
  }
  static HWY_INLINE Pixel load_pixel(const uint8_t* x) {
    return hn::Set(DI(), static_cast<int32_t>(load_quad(x)));
  }
  static HWY_INLINE Weights weights_of(VI quads) { return quads; }
  static HWY_INLINE Pixel pixel_of(VI quads) { return quads; }
  static HWY_INLINE void add(VI& sum, const Pixel& x, const Weights& w) {
    asm("vpdpbusd %2, %1, %0" : "+v"(sum.raw) : "v"(x.raw), "v"(w.raw));
  }
};
#elif SHOAL_NEON_DOT
struct QuadDot {
  using Weights = int8x16_t;
  using Pixel = int8x16_t;
  using Four = int8x16_t;
  static constexpr int32_t kPixelOffset = 128;  // the instruction takes signed bytes
  static constexpr bool kChannelsFirst = true;

  static bool is_here() { return has(Extension::kDotProduct); }
  static HWY_INLINE Weights load_weights(const int8_t* w) { return vld1q_s8(w); }
  static HWY_INLINE Pixel load_pixel(const uint8_t* x) {
    return flipped(vreinterpretq_s8_u32(vdupq_n_u32(load_quad(x))));
  }
  static HWY_INLINE Four load_four(const uint8_t* x) {
    return flipped(vreinterpretq_s8_u8(vld1q_u8(x)));
  }
  static HWY_INLINE Weights weights_of(VI quads) { return vreinterpretq_s8_s32(quads.raw); }
  static HWY_INLINE Pixel pixel_of(VI quads) { return flipped(vreinterpretq_s8_s32(quads.raw)); }
  static HWY_INLINE void add(VI& sum, const Pixel& x, const Weights& w) {
    asm(SHOAL_ARM_ASM("sdot %0.4s, %1.16b, %2.16b") : "+w"(sum.raw) : "w"(w), "w"(x));
  }
  template <int kLane>
  static HWY_INLINE void add_lane(VI& sum, const Four& x, const Weights& w) {
    asm(SHOAL_ARM_ASM("sdot %0.4s, %1.16b, %2.4b[%3]")
        : "+w"(sum.raw)
        : "w"(w), "w"(x), "i"(kLane));
  }

 private:
  static HWY_INLINE int8x16_t flipped(int8x16_t bytes) { return veorq_s8(bytes, vdupq_n_s8(-128)); }
};
#endif

#if SHOAL_X86_VECTORS
// pmaddwd adds pairs of 16-bit products in 32 bits: one for the even bytes of each four, one for
// the odd.
struct PairDot {
  using D16 = hn::Repartition<int16_t, DI>;
  struct Weights {
    hn::Vec<D16> even, odd;
  };
  using Pixel = Weights;
  static constexpr int32_t kPixelOffset = 0;
  static constexpr bool kChannelsFirst = true;

  static HWY_INLINE Weights load_weights(const int8_t* w) {
    const auto both = hn::BitCast(D16(), hn::LoadU(hn::Repartition<int8_t, DI>(), w));
    return {hn::ShiftRight<8>(hn::ShiftLeft<8>(both)), hn::ShiftRight<8>(both)};
  }
  static HWY_INLINE Pixel load_pixel(const uint8_t* x) {
    const uint32_t quad = load_quad(x);
    const auto even = hn::Set(DI(), static_cast<int32_t>(quad & 0x00ff00ff));
    const auto odd = hn::Set(DI(), static_cast<int32_t>(quad >> 8 & 0x00ff00ff));
    return {hn::BitCast(D16(), even), hn::BitCast(D16(), odd)};
  }
  static HWY_INLINE Pixel pixel_of(VI quads) {
    const hn::RebindToUnsigned<D16> du;
    const auto both = hn::BitCast(du, quads);
    return {hn::BitCast(D16(), hn::And(both, hn::Set(du, 255))),
            hn::BitCast(D16(), hn::ShiftRight<8>(both))};
  }
  static HWY_INLINE void add(VI& sum, const Pixel& x, const Weights& w) {
    VI unused = hn::Zero(DI());
    sum = hn::ReorderWidenMulAccumulate(DI(), x.even, w.even, sum, unused);
    sum = hn::ReorderWidenMulAccumulate(DI(), x.odd, w.odd, sum, unused);
  }
};
#elif SHOAL_NEON
// NEON without dot product: widening multiply-accumulate of four output channels by one input
// channel.
struct PairDot {
  struct Weights {
    int16x8_t first, second;  // [input channel][output channel]
  };
  using Pixel = int16x4_t;
  struct Four {
    int16x8_t first, second;  // [pixel][input channel]
  };
  static constexpr int32_t kPixelOffset = 0;
  static constexpr bool kChannelsFirst = false;

  static HWY_INLINE Weights load_weights(const int8_t* w) {
    const int8x16_t bytes = vld1q_s8(w);
    return {vmovl_s8(vget_low_s8(bytes)), vmovl_high_s8(bytes)};
  }
  static HWY_INLINE Pixel load_pixel(const uint8_t* x) {
    const uint16x8_t wide = vmovl_u8(vreinterpret_u8_u32(vdup_n_u32(load_quad(x))));
    return vreinterpret_s16_u16(vget_low_u16(wide));
  }
  static HWY_INLINE void add(VI& sum, const Pixel& x, const Weights& w) {
    sum.raw = vmlal_lane_s16(sum.raw, vget_low_s16(w.first), x, 0);
    sum.raw = vmlal_high_lane_s16(sum.raw, w.first, x, 1);
    sum.raw = vmlal_lane_s16(sum.raw, vget_low_s16(w.second), x, 2);
    sum.raw = vmlal_high_lane_s16(sum.raw, w.second, x, 3);
  }
  static HWY_INLINE Four load_four(const uint8_t* x) {
    const uint8x16_t bytes = vld1q_u8(x);
    return {vreinterpretq_s16_u16(vmovl_u8(vget_low_u8(bytes))),
            vreinterpretq_s16_u16(vmovl_high_u8(bytes))};
  }
  template <int kLane>
  static HWY_INLINE void add_lane(VI& sum, const Four& four, const Weights& w) {
    const int16x8_t x = kLane < 2 ? four.first : four.second;
    constexpr int kChannel = kLane % 2 * 4;
    sum.raw = vmlal_laneq_s16(sum.raw, vget_low_s16(w.first), x, kChannel);
    sum.raw = vmlal_high_laneq_s16(sum.raw, w.first, x, kChannel + 1);
    sum.raw = vmlal_laneq_s16(sum.raw, vget_low_s16(w.second), x, kChannel + 2);
    sum.raw = vmlal_high_laneq_s16(sum.raw, w.second, x, kChannel + 3);
  }
};
#else
struct PairDot {
  struct Weights {
    VI of_channel[4];
  };
  using Pixel = const uint8_t*;
  static constexpr int32_t kPixelOffset = 0;
  static constexpr bool kChannelsFirst = false;

  static HWY_INLINE Weights load_weights(const int8_t* w) {
    const hn::Rebind<int8_t, DI> d8;
    Weights weights;
    for (VI& channel : weights.of_channel) {
      channel = hn::PromoteTo(DI(), hn::LoadU(d8, w));
      w += kLanes;
    }
    return weights;
  }
  static HWY_INLINE Pixel load_pixel(const uint8_t* x) { return x; }
  static HWY_INLINE void add(VI& sum, const Pixel& x, const Weights& w) {
    for (int i = 0; i < 4; ++i) {
      sum = hn::Add(sum, hn::Mul(w.of_channel[i], hn::Set(DI(), x[i])));
    }
  }
};
#endif

}  // namespace
}  // namespace shoal::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
