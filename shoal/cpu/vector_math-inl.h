// Functions of vectors of floats. Included once per instruction set, between the lines that open
// and close its namespace.
#if defined(SHOAL_CPU_VECTOR_MATH_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef SHOAL_CPU_VECTOR_MATH_INL_H
#undef SHOAL_CPU_VECTOR_MATH_INL_H
#else
#define SHOAL_CPU_VECTOR_MATH_INL_H
#endif

#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace shoal::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

constexpr int64_t kLanes = HWY_LANES(float);

// Minimum and maximum with the bound first: where x is a NaN, it stays one.
HWY_INLINE V at_most(V bound, V x) { return hn::Min(bound, x); }
HWY_INLINE V at_least(V bound, V x) { return hn::Max(bound, x); }

// Beyond 88.7 the result is infinite; Highway's own goes up to 104 only.
HWY_INLINE V exp(D d, V x) { return hn::Exp(d, at_most(hn::Set(d, 100.0f), x)); }

HWY_INLINE V sigmoid(D d, V x) {
  const V one = hn::Set(d, 1.0f);
  return hn::Div(one, hn::Add(one, exp(d, hn::Neg(x))));
}

// Abramowitz and Stegun, 7.1.26: within 1.5e-7.
HWY_INLINE V erf(D d, V x) {
  const V one = hn::Set(d, 1.0f), magnitude = hn::Abs(x);
  const V t = hn::Div(one, hn::MulAdd(hn::Set(d, 0.3275911f), magnitude, one));
  V sum = hn::Set(d, 1.061405429f);
  sum = hn::MulAdd(sum, t, hn::Set(d, -1.453152027f));
  sum = hn::MulAdd(sum, t, hn::Set(d, 1.421413741f));
  sum = hn::MulAdd(sum, t, hn::Set(d, -0.284496736f));
  sum = hn::MulAdd(sum, t, hn::Set(d, 0.254829592f));
  const V tail = hn::Mul(hn::Mul(sum, t), exp(d, hn::Neg(hn::Mul(x, x))));
  return hn::CopySign(hn::Sub(one, tail), x);
}

// y_i = f(x_i), the last vector by way of one that is filled up with zeros. x and y may be the
// same memory.
template <class F>
HWY_INLINE void map(const float* x, float* y, int64_t n, const F& f) {
  const D d;
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) hn::StoreU(f(d, hn::LoadU(d, x + i)), d, y + i);
  if (i == n) return;
  HWY_ALIGN float rest[kLanes] = {};
  for (int64_t k = i; k < n; ++k) rest[k - i] = x[k];
  hn::Store(f(d, hn::Load(d, rest)), d, rest);
  for (int64_t k = i; k < n; ++k) y[k] = rest[k - i];
}

}  // namespace
}  // namespace shoal::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // per target
