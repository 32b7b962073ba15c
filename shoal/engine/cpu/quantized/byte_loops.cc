// Element-wise loops over bytes. Four vectors of 32 bits are narrowed to one of bytes at a time
// (requantize-inl.h). Products are rounded before they are added, as in the reference, so that
// results are equal bit for bit; the file is compiled without contraction to FMA.
#include "shoal/engine/cpu/quantized/byte_loops.h"

#include <algorithm>
#include <type_traits>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "shoal/engine/cpu/quantized/byte_loops.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "shoal/engine/cpu/quantized/requantize-inl.h"

HWY_BEFORE_NAMESPACE();
namespace shoal::cpu::HWY_NAMESPACE {
namespace {

constexpr int kMany = 4;  // vectors at a time

// Calls f(vectors, first element) so that they cover n elements, and rest(first, elements) for a
// last part that does not fill a vector, which goes through copies.
template <class F, class Rest>
HWY_INLINE void for_each_vector(int64_t n, const F& f, const Rest& rest) {
  int64_t i = 0;
  for (; i + kMany * kLanes <= n; i += kMany * kLanes) f(std::integral_constant<int, kMany>(), i);
  for (; i + kLanes <= n; i += kLanes) f(std::integral_constant<int, 1>(), i);
  if (i < n) rest(i, n - i);
}

void quantize_here(const float* x, float scale, const Rounding& rounding, uint8_t* y, int64_t n) {
  const DF d;
  const VF unit = hn::Set(d, scale);
  // The real number that becomes a byte of 0 once the zero point is added and the flip undone.
  const VF nothing = hn::Set(d, static_cast<float>(rounding.flip - rounding.zero_point));
  const auto convert = [&](auto count, const float* from, uint8_t* to) {
    VF real[decltype(count)::value];
    for (VF& r : real) {
      const VF scaled = hn::Div(hn::LoadU(d, from + (&r - real) * kLanes), unit);
      r = hn::IfThenElse(hn::IsNaN(scaled), nothing, scaled);
    }
    round_and_store_all(rounding, real, to);
  };
  for_each_vector(
      n, [&](auto count, int64_t i) { convert(count, x + i, y + i); },
      [&](int64_t i, int64_t count) {
        HWY_ALIGN float from[kLanes] = {};
        uint8_t to[kLanes];
        std::copy_n(x + i, count, from);
        convert(std::integral_constant<int, 1>(), from, to);
        std::copy_n(to, count, y + i);
      });
}

void dequantize_here(const uint8_t* x, const ByteScale& how, float* y, int64_t n) {
  const DF d;
  const VF scale = hn::Set(d, how.scale);
  const auto convert = [&](auto count, const uint8_t* from, float* to) {
    for (int64_t i = 0; i < decltype(count)::value * kLanes; i += kLanes) {
      hn::StoreU(hn::Mul(load_bytes(from + i, how.flip, how.zero_point), scale), d, to + i);
    }
  };
  for_each_vector(
      n, [&](auto count, int64_t i) { convert(count, x + i, y + i); },
      [&](int64_t i, int64_t count) {
        uint8_t from[kLanes] = {};
        HWY_ALIGN float to[kLanes];
        std::copy_n(x + i, count, from);
        convert(std::integral_constant<int, 1>(), from, to);
        std::copy_n(to, count, y + i);
      });
}

void add_here(const uint8_t* a, const ByteScale& a_scale, const uint8_t* b,
              const ByteScale& b_scale, const Rounding& rounding, uint8_t* y, int64_t n) {
  const DF d;
  const VF left = hn::Set(d, a_scale.scale), right = hn::Set(d, b_scale.scale);
  const auto add = [&](auto count, const uint8_t* from_a, const uint8_t* from_b, uint8_t* to) {
    VF sum[decltype(count)::value];
    for (VF& s : sum) {
      const int64_t at = (&s - sum) * kLanes;
      s = hn::Add(hn::Mul(load_bytes(from_a + at, a_scale.flip, a_scale.zero_point), left),
                  hn::Mul(load_bytes(from_b + at, b_scale.flip, b_scale.zero_point), right));
    }
    round_and_store_all(rounding, sum, to);
  };
  for_each_vector(
      n, [&](auto count, int64_t i) { add(count, a + i, b + i, y + i); },
      [&](int64_t i, int64_t count) {
        uint8_t from_a[kLanes] = {}, from_b[kLanes] = {}, to[kLanes];
        std::copy_n(a + i, count, from_a);
        std::copy_n(b + i, count, from_b);
        add(std::integral_constant<int, 1>(), from_a, from_b, to);
        std::copy_n(to, count, y + i);
      });
}

#if SHOAL_AVX512
// A table in registers: 256 entries are two tables of 128, and the top bit of a byte says which.
// Returns how many bytes it has done, 64 at a time. In inline assembly, because no target of
// Highway here stands for these instructions. REQUIRES: the processor has AVX-512 VBMI.
int64_t lookup_in_registers(const uint8_t* x, const uint8_t* table, uint8_t* y, int64_t n) {
  const hn::ScalableTag<uint8_t> d;
  constexpr int64_t kBytes = HWY_LANES(uint8_t);
  const auto part = [&](int64_t k) { return hn::LoadU(d, table + k * kBytes); };
  const auto t0 = part(0), t1 = part(1), t2 = part(2), t3 = part(3);
  int64_t i = 0;
  for (; i + kBytes <= n; i += kBytes) {
    const auto bytes = hn::LoadU(d, x + i);
    auto low = bytes, high = bytes;  // places, which the results replace
    asm("vpermi2b %2, %1, %0" : "+v"(low.raw) : "v"(t0.raw), "v"(t1.raw));
    asm("vpermi2b %2, %1, %0" : "+v"(high.raw) : "v"(t2.raw), "v"(t3.raw));
    _mm512_storeu_si512(y + i,
                        _mm512_mask_blend_epi8(_mm512_movepi8_mask(bytes.raw), low.raw, high.raw));
  }
  return i;
}
#endif

void lookup_here(const uint8_t* x, const uint8_t* table, uint8_t* y, int64_t n) {
  int64_t i = 0;
#if SHOAL_AVX512
  static const bool is_here = __builtin_cpu_supports("avx512vbmi");
  if (is_here) i = lookup_in_registers(x, table, y, n);
#endif
  for (; i < n; ++i) y[i] = table[x[i]];
}

void interleave_here(const uint8_t* from, int64_t plane, int64_t planes, int64_t pixels,
                     uint8_t flip, uint8_t* to) {
  int64_t i = 0;
#if HWY_TARGET != HWY_SCALAR
  const hn::ScalableTag<uint8_t> d;
  constexpr int64_t kBytes = HWY_LANES(uint8_t);
  for (; i + kBytes <= pixels; i += kBytes) {
    const auto load = [&](int64_t c) {
      return c < planes ? hn::Xor(hn::LoadU(d, from + c * plane + i), hn::Set(d, flip))
                        : hn::Zero(d);
    };
    hn::StoreInterleaved4(load(0), load(1), load(2), load(3), d, to + i * 4);
  }
#endif
  for (; i < pixels; ++i) {
    for (int64_t c = 0; c < 4; ++c) {
      to[i * 4 + c] = c < planes ? static_cast<uint8_t>(from[c * plane + i] ^ flip) : uint8_t{0};
    }
  }
}

}  // namespace
}  // namespace shoal::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace shoal::cpu {

HWY_EXPORT(quantize_here);
HWY_EXPORT(dequantize_here);
HWY_EXPORT(add_here);
HWY_EXPORT(lookup_here);
HWY_EXPORT(interleave_here);

void quantize_bytes(const float* x, float scale, const Rounding& rounding, uint8_t* y, int64_t n) {
  HWY_DYNAMIC_DISPATCH(quantize_here)(x, scale, rounding, y, n);
}

void dequantize_bytes(const uint8_t* x, const ByteScale& how, float* y, int64_t n) {
  HWY_DYNAMIC_DISPATCH(dequantize_here)(x, how, y, n);
}

void add_bytes(const uint8_t* a, const ByteScale& a_scale, const uint8_t* b,
               const ByteScale& b_scale, const Rounding& rounding, uint8_t* y, int64_t n) {
  HWY_DYNAMIC_DISPATCH(add_here)(a, a_scale, b, b_scale, rounding, y, n);
}

void lookup_bytes(const uint8_t* x, const uint8_t* table, uint8_t* y, int64_t n) {
  HWY_DYNAMIC_DISPATCH(lookup_here)(x, table, y, n);
}

void ByteCopier::copy(const uint8_t* from, int64_t n, uint8_t* to) const {
  if (flip == 0) {
    std::copy_n(from, n, to);
  } else {
    std::transform(from, from + n, to,
                   [this](uint8_t x) { return static_cast<uint8_t>(x ^ flip); });
  }
}

void ByteCopier::interleave(const uint8_t* from, int64_t plane, int64_t planes, int64_t pixels,
                            uint8_t* to) const {
  HWY_DYNAMIC_DISPATCH(interleave_here)(from, plane, planes, pixels, flip, to);
}

}  // namespace shoal::cpu
#endif  // HWY_ONCE
