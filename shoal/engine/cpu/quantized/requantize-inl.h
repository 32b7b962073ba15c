// Vector code of byte_loops.h. Included once per instruction set, between the lines that open and
// close its namespace. Files that round floats with it are compiled without contraction to FMA:
// products are rounded before they are added, as in the reference.
#if defined(SHOAL_CPU_REQUANTIZE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef SHOAL_CPU_REQUANTIZE_INL_H
#undef SHOAL_CPU_REQUANTIZE_INL_H
#else
#define SHOAL_CPU_REQUANTIZE_INL_H
#endif

#include <hwy/highway.h>

#include "shoal/engine/cpu/quantized/byte_loops.h"

HWY_BEFORE_NAMESPACE();
namespace shoal::cpu::HWY_NAMESPACE {
namespace {

#define SHOAL_AVX512 (HWY_TARGET == HWY_AVX3 || HWY_TARGET == HWY_AVX3_DL)

namespace hn = hwy::HWY_NAMESPACE;
using DF = hn::ScalableTag<float>;
using DI = hn::RebindToSigned<DF>;
using DB = hn::Rebind<uint8_t, DF>;  // as many bytes as floats
using VF = hn::Vec<DF>;
using VI = hn::Vec<DI>;

constexpr int64_t kLanes = HWY_LANES(float);

// A NaN gives the low end on every target: Max returns its second operand, or the number.
HWY_INLINE VF clamp_to(const Rounding& rounding, VF x) {
  const DF d;
  return hn::Min(hn::Max(x, hn::Set(d, rounding.low)), hn::Set(d, rounding.high));
}

// Round to nearest, for numbers that fit into 32 bits. Highway's NearestInt also corrects those
// that do not.
HWY_INLINE VI nearest(VF x) {
#if SHOAL_AVX512
  return VI{_mm512_cvtps_epi32(x.raw)};
#elif HWY_TARGET == HWY_AVX2
  return VI{_mm256_cvtps_epi32(x.raw)};
#elif HWY_TARGET == HWY_SSE4
  return VI{_mm_cvtps_epi32(x.raw)};
#else
  return hn::NearestInt(x);
#endif
}

#if !SHOAL_AVX512
HWY_INLINE void round_and_store(const Rounding& rounding, VF x, uint8_t* y) {
  const hn::RebindToUnsigned<DI> du;
  const DB db;
  const VI u8 = hn::Add(nearest(clamp_to(rounding, x)), hn::Set(DI(), rounding.zero_point));
  hn::StoreU(hn::Xor(hn::U8FromU32(hn::BitCast(du, u8)), hn::Set(db, rounding.flip)), db, y);
}
#endif

#if SHOAL_AVX512
// Up to four vectors at once, by instructions that saturate on the way to 16 and 8 bits. Numbers
// too large for 32 bits would convert to the most negative one, so they are reduced first. A NaN,
// which is second there to stay one, does, and so becomes the lowest byte as in clamp_to(). Packing
// works within 16-byte parts; one permutation at the end restores the order.
template <int kCount>
HWY_INLINE void round_and_store_four(const Rounding& rounding, const VF* x, uint8_t* y) {
  __m512 real[4];
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) real[i] = i < kCount ? x[i].raw : _mm512_setzero_ps();
  if (!rounding.fits) {
    for (__m512& r : real) r = _mm512_min_ps(_mm512_set1_ps(0x1p30f), r);
  }
  const auto pack = [&](__m512 a, __m512 b) {
    const __m512i both = _mm512_packs_epi32(_mm512_cvtps_epi32(a), _mm512_cvtps_epi32(b));
    return _mm512_adds_epi16(both, _mm512_set1_epi16(static_cast<int16_t>(rounding.zero_point)));
  };
  __m512i bytes = _mm512_packus_epi16(pack(real[0], real[1]), pack(real[2], real[3]));
  if (!rounding.is_plain) {
    bytes = _mm512_max_epu8(bytes, _mm512_set1_epi8(static_cast<char>(rounding.low_byte)));
    bytes = _mm512_min_epu8(bytes, _mm512_set1_epi8(static_cast<char>(rounding.high_byte)));
    bytes = _mm512_xor_si512(bytes, _mm512_set1_epi8(static_cast<char>(rounding.flip)));
  }
  const __m512i in_order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
  _mm512_mask_storeu_epi32(y, (1u << 4 * kCount) - 1, _mm512_permutexvar_epi32(in_order, bytes));
}
#endif

// Rounds and stores vectors that are contiguous in y.
template <int kCount>
HWY_INLINE void round_and_store_all(const Rounding& rounding, const VF (&x)[kCount], uint8_t* y) {
#if SHOAL_AVX512
  constexpr int kRest = kCount % 4, kWhole = kCount - kRest;
#pragma GCC unroll 4
  for (int i = 0; i < kWhole; i += 4) round_and_store_four<4>(rounding, x + i, y + i * kLanes);
  if constexpr (kRest > 0) {
    round_and_store_four<kRest>(rounding, x + kWhole, y + kWhole * kLanes);
  }
#else
#pragma GCC unroll 16
  for (int i = 0; i < kCount; ++i) round_and_store(rounding, x[i], y + i * kLanes);
#endif
}

HWY_INLINE VF load_bytes(const uint8_t* x, uint8_t flip, int32_t zero_point) {
  const DB db;
  const DI di;
  const auto bytes = hn::Xor(hn::LoadU(db, x), hn::Set(db, flip));
  return hn::ConvertTo(DF(), hn::Sub(hn::PromoteTo(di, bytes), hn::Set(di, zero_point)));
}

// Requantises sums of neighbouring pixels with the scale of their channels. `residual` may be null.
template <int kCount>
HWY_INLINE void requantize(const Requantize& how, const VI (&sums)[kCount], VF scale,
                           const uint8_t* residual, uint8_t* y) {
  const DF d;
  VF real[kCount];
#pragma GCC unroll 16
  for (int i = 0; i < kCount; ++i) real[i] = hn::Mul(hn::ConvertTo(d, sums[i]), scale);
  if (residual == nullptr) return round_and_store_all(how.own, real, y);
#pragma GCC unroll 16
  for (int i = 0; i < kCount; ++i) {
    const VF left = hn::Mul(hn::Round(clamp_to(how.own, real[i])), hn::Set(d, how.own_scale));
    const VF right =
        hn::Mul(load_bytes(residual + i * kLanes, how.residual_flip, how.residual_zero),
                hn::Set(d, how.residual_scale));
    real[i] = hn::Add(left, right);
  }
  round_and_store_all(how.sum, real, y);
}

}  // namespace
}  // namespace shoal::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
