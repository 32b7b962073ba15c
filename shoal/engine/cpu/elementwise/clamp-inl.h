// Minimum and maximum of a bound and an element that may be a NaN, which stays one. Included once
// per instruction set, between the lines that open and close its namespace.
#if defined(SHOAL_CPU_CLAMP_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef SHOAL_CPU_CLAMP_INL_H
#undef SHOAL_CPU_CLAMP_INL_H
#else
#define SHOAL_CPU_CLAMP_INL_H
#endif

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace shoal::cpu::HWY_NAMESPACE {
namespace {

// x86 returns the second operand if either is a NaN. AArch64 has one pair of instructions that
// returns the operand that is a number, which is Highway's choice, and another that returns the
// NaN, at the same speed.
#if HWY_TARGET == HWY_SCALAR || HWY_TARGET == HWY_EMU128
template <class V>
HWY_INLINE V at_most(V bound, V x) {
  namespace hn = hwy::HWY_NAMESPACE;
  return hn::IfThenElse(hn::IsNaN(x), x, hn::Min(bound, x));
}
template <class V>
HWY_INLINE V at_least(V bound, V x) {
  namespace hn = hwy::HWY_NAMESPACE;
  return hn::IfThenElse(hn::IsNaN(x), x, hn::Max(bound, x));
}
#elif HWY_ARCH_ARM_A64
HWY_INLINE float32x4_t lesser(float32x4_t a, float32x4_t b) { return vminq_f32(a, b); }
HWY_INLINE float32x2_t lesser(float32x2_t a, float32x2_t b) { return vmin_f32(a, b); }
HWY_INLINE float32x4_t greater(float32x4_t a, float32x4_t b) { return vmaxq_f32(a, b); }
HWY_INLINE float32x2_t greater(float32x2_t a, float32x2_t b) { return vmax_f32(a, b); }

template <class V>
HWY_INLINE V at_most(V bound, V x) {
  return V(lesser(bound.raw, x.raw));
}
template <class V>
HWY_INLINE V at_least(V bound, V x) {
  return V(greater(bound.raw, x.raw));
}
#else
template <class V>
HWY_INLINE V at_most(V bound, V x) {
  return hwy::HWY_NAMESPACE::Min(bound, x);
}
template <class V>
HWY_INLINE V at_least(V bound, V x) {
  return hwy::HWY_NAMESPACE::Max(bound, x);
}
#endif

}  // namespace
}  // namespace shoal::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per target
