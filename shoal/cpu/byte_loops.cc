#include "shoal/cpu/byte_loops.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "shoal/cpu/byte_loops.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "shoal/cpu/requantize-inl.h"

HWY_BEFORE_NAMESPACE();
namespace shoal::cpu::HWY_NAMESPACE {
namespace {

// Calls f(first element) for whole vectors. The last of them overlaps the one before, unless
// there are fewer elements than lanes: then f works on copies of `rest` lanes.
template <class F, class Rest>
HWY_INLINE void for_each_vector(int64_t n, const F& f, const Rest& rest) {
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) f(i);
  if (i < n) rest(i, n - i);
}

void quantize_here(const float* x, float scale, const Rounding& rounding, uint8_t* y, int64_t n) {
  const DF d;
  const VF unit = hn::Set(d, scale);
  // Which gives 0.
  const VF nothing = hn::Set(d, static_cast<float>(rounding.flip - rounding.zero_point));
  const auto convert = [&](const float* from, uint8_t* to) {
    const VF scaled = hn::Div(hn::LoadU(d, from), unit);
    round_and_store(rounding, hn::IfThenElse(hn::IsNaN(scaled), nothing, scaled), to);
  };
  for_each_vector(
      n, [&](int64_t i) { convert(x + i, y + i); },
      [&](int64_t i, int64_t count) {
        HWY_ALIGN float from[kLanes] = {};
        uint8_t to[kLanes];
        std::copy_n(x + i, count, from);
        convert(from, to);
        std::copy_n(to, count, y + i);
      });
}

void dequantize_here(const uint8_t* x, const ByteScale& how, float* y, int64_t n) {
  const DF d;
  const VF scale = hn::Set(d, how.scale);
  const auto convert = [&](const uint8_t* from, float* to) {
    hn::StoreU(hn::Mul(load_bytes(from, how.flip, how.zero_point), scale), d, to);
  };
  for_each_vector(
      n, [&](int64_t i) { convert(x + i, y + i); },
      [&](int64_t i, int64_t count) {
        uint8_t from[kLanes] = {};
        HWY_ALIGN float to[kLanes];
        std::copy_n(x + i, count, from);
        convert(from, to);
        std::copy_n(to, count, y + i);
      });
}

void add_here(const uint8_t* a, const ByteScale& a_scale, const uint8_t* b,
              const ByteScale& b_scale, const Rounding& rounding, uint8_t* y, int64_t n) {
  const DF d;
  const VF left = hn::Set(d, a_scale.scale), right = hn::Set(d, b_scale.scale);
  const auto add = [&](const uint8_t* from_a, const uint8_t* from_b, uint8_t* to) {
    const VF sum = hn::Add(hn::Mul(load_bytes(from_a, a_scale.flip, a_scale.zero_point), left),
                           hn::Mul(load_bytes(from_b, b_scale.flip, b_scale.zero_point), right));
    round_and_store(rounding, sum, to);
  };
  for_each_vector(
      n, [&](int64_t i) { add(a + i, b + i, y + i); },
      [&](int64_t i, int64_t count) {
        uint8_t from_a[kLanes] = {}, from_b[kLanes] = {}, to[kLanes];
        std::copy_n(a + i, count, from_a);
        std::copy_n(b + i, count, from_b);
        add(from_a, from_b, to);
        std::copy_n(to, count, y + i);
      });
}

}  // namespace
}  // namespace shoal::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace shoal::cpu {

HWY_EXPORT(quantize_here);
HWY_EXPORT(dequantize_here);
HWY_EXPORT(add_here);

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

}  // namespace shoal::cpu
#endif  // HWY_ONCE
