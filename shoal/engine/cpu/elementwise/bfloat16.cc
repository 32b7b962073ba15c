// bfloat16 is the upper half of a float. Rounding to nearest even adds 0x7fff plus the last bit
// that is kept before the lower half is dropped; the carry may reach the exponent, which rounds up
// to infinity correctly. Loops move 6 bytes per element and are limited by memory.
#include <algorithm>

#include "shoal/engine/cpu/elementwise/elementwise.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "shoal/engine/cpu/elementwise/bfloat16.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "shoal/engine/cpu/elementwise/vector_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace shoal::cpu::HWY_NAMESPACE {
namespace {

using Bits = hn::RebindToUnsigned<D>;
using HalfBits = hn::Rebind<uint16_t, D>;
using BitsV = hn::Vec<Bits>;

// f(from, to) converts one vector; the last goes through copies that are filled up with zeros.
template <class From, class To, class F>
HWY_INLINE void convert(const From* x, To* y, int64_t n, const F& f) {
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) f(x + i, y + i);
  if (i == n) return;
  HWY_ALIGN From from[kLanes] = {};
  HWY_ALIGN To to[kLanes];
  std::copy_n(x + i, n - i, from);
  f(from, to);
  std::copy_n(to, n - i, y + i);
}

// upper(bits of a float) returns the bits that are kept in the low half, zeros above. A NaN keeps
// the upper half of its bits and gets the quiet bit: rounding or truncation could turn it into
// infinity.
template <class F>
HWY_INLINE void narrow(const float* x, uint16_t* y, int64_t n, const F& upper) {
  const D d;
  const Bits bits;
  const hn::RebindToSigned<D> integers;
  convert(x, y, n, [&](const float* from, uint16_t* to) {
    const V value = hn::LoadU(d, from);
    const BitsV all = hn::BitCast(bits, value);
    const BitsV quiet = hn::Or(hn::ShiftRight<16>(all), hn::Set(bits, 0x40u));
    const BitsV kept = hn::IfThenElse(hn::RebindMask(bits, hn::IsNaN(value)), quiet, upper(all));
    hn::StoreU(hn::DemoteTo(HalfBits(), hn::BitCast(integers, kept)), HalfBits(), to);
  });
}

void round_here(const float* x, uint16_t* y, int64_t n) {
  const Bits bits;
  narrow(x, y, n, [&](BitsV all) {
    // 0x7fff is just below half of the last bit that is kept. Adding that bit itself makes a tie
    // carry only if it is odd: ties go to even.
    const BitsV odd = hn::And(hn::ShiftRight<16>(all), hn::Set(bits, 1u));
    return hn::ShiftRight<16>(hn::Add(all, hn::Add(hn::Set(bits, 0x7fffu), odd)));
  });
}

void truncate_here(const float* x, uint16_t* y, int64_t n) {
  narrow(x, y, n, [](BitsV all) { return hn::ShiftRight<16>(all); });
}

void widen_here(const uint16_t* x, float* y, int64_t n) {
  const D d;
  convert(x, y, n, [&](const uint16_t* from, float* to) {
    const BitsV upper = hn::PromoteTo(Bits(), hn::LoadU(HalfBits(), from));
    hn::StoreU(hn::BitCast(d, hn::ShiftLeft<16>(upper)), d, to);
  });
}

}  // namespace
}  // namespace shoal::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace shoal::cpu {

HWY_EXPORT(round_here);
HWY_EXPORT(truncate_here);
HWY_EXPORT(widen_here);

Narrow round_to_bfloat16() { return HWY_DYNAMIC_DISPATCH(round_here); }
Narrow truncate_to_bfloat16() { return HWY_DYNAMIC_DISPATCH(truncate_here); }
Widen widen_bfloat16() { return HWY_DYNAMIC_DISPATCH(widen_here); }

}  // namespace shoal::cpu
#endif  // HWY_ONCE
