// Functions of vectors of floats. Included once per instruction set, between the lines that open
// and close its namespace.
//
// Approximations are polynomials or ratios of polynomials in float, without branches and tables, so
// that all lanes take the same time.
#if defined(SHOAL_CPU_VECTOR_MATH_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef SHOAL_CPU_VECTOR_MATH_INL_H
#undef SHOAL_CPU_VECTOR_MATH_INL_H
#else
#define SHOAL_CPU_VECTOR_MATH_INL_H
#endif

#include <hwy/contrib/math/math-inl.h>
#include <hwy/highway.h>

#include "shoal/engine/cpu/elementwise/clamp-inl.h"

HWY_BEFORE_NAMESPACE();
namespace shoal::cpu::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using D = hn::ScalableTag<float>;
using V = hn::Vec<D>;

constexpr int64_t kLanes = HWY_LANES(float);

HWY_INLINE V clamp(D d, float low, float high, V x) {
  return at_least(hn::Set(d, low), at_most(hn::Set(d, high), x));
}

// c[0] + c[1] x + c[2] x^2 and so on, by Horner's rule: one FMA per coefficient.
template <size_t kCount>
HWY_INLINE V polynomial(D d, const float (&c)[kCount], V x) {
  V sum = hn::Set(d, c[kCount - 1]);
  for (size_t i = kCount - 1; i-- > 0;) sum = hn::MulAdd(sum, x, hn::Set(d, c[i]));
  return sum;
}

// exp(x) is infinite beyond 88.7. Highway's is valid up to 104 only, hence the bound.
HWY_INLINE V exp(D d, V x) { return hn::Exp(d, at_most(hn::Set(d, 100.0f), x)); }

// 2^x with a relative error of 2e-7 for x in [-126, 127.4], and of the nearer end beyond. It is
// half the work of a function that handles denormals and infinities.
//   2^x = 2^n * 2^f, n = round(x), f = x - n, |f| <= 1 / 2
HWY_INLINE V exp2_clamped(D d, V x) {
  x = clamp(d, -126.0f, 127.4f, x);
  // 1.5 * 2^23 + 127: adding it to a small number rounds that to an integer, which then is in the
  // low bits of the sum, with the bias of an exponent added.
  const V shift = hn::Set(d, 12582912.0f + 127);
  const V shifted = hn::Add(x, shift);
  const V rest = hn::Sub(x, hn::Sub(shifted, shift));
  const hn::RebindToSigned<D> integers;
  const V scale = hn::BitCast(d, hn::ShiftLeft<23>(hn::BitCast(integers, shifted)));
  constexpr float kTerms[] = {1.0f,          0.693147004f,   0.240222424f,
                              0.0555073358f, 0.00967151299f, 0.00132647285f};
  return hn::Mul(polynomial(d, kTerms, rest), scale);
}

constexpr float kLog2OfE = 1.44269504f;

// exp(x) for x in [kLowestExponent, 88.3], and zero below: the exponentials of softmax, measured
// from the largest element. x / ln 2 is rounded, which adds 6e-8 |x| to the relative error.
constexpr float kLowestExponent = -87.3f;
HWY_INLINE V exp_or_zero(D d, V x) {
  return hn::IfThenZeroElse(hn::Lt(x, hn::Set(d, kLowestExponent)),
                            exp2_clamped(d, hn::Mul(x, hn::Set(d, kLog2OfE))));
}

// y / (1 + exp(-alpha x)). A division takes no longer than an approximate reciprocal and its
// correction: it has a unit of its own, beside which the rest of the next vector is computed.
HWY_INLINE V by_logistic(D d, V y, float alpha, V x) {
  const V power = exp2_clamped(d, hn::Mul(x, hn::Set(d, -kLog2OfE * alpha)));
  return hn::Div(y, hn::Add(hn::Set(d, 1.0f), power));
}

HWY_INLINE V sigmoid(D d, V x) { return by_logistic(d, hn::Set(d, 1.0f), 1, x); }

// x p(x^2) / q(x^2) for |x| <= end, where the function reaches 1 within half a unit in the last
// place. The coefficients of the two below were fitted for the smallest relative error in that
// range.
template <size_t kP, size_t kQ>
HWY_INLINE V odd_ratio(D d, float end, const float (&p)[kP], const float (&q)[kQ], V x) {
  x = clamp(d, -end, end, x);
  const V square = hn::Mul(x, x);
  const V y = hn::Div(hn::Mul(x, polynomial(d, p, square)), polynomial(d, q, square));
  return clamp(d, -1.0f, 1.0f, y);
}

// Within 4e-7.
HWY_INLINE V erf(D d, V x) {
  constexpr float kP[] = {1.1283791f,    0.19040741f,    0.052748848f,
                          0.0037656578f, 0.00028488372f, 2.0500811e-6f};
  constexpr float kQ[] = {1.0f,         0.50207692f,   0.1141095f,
                          0.014969298f, 0.0011625456f, 3.8091704e-5f};
  return odd_ratio(d, 3.92f, kP, kQ, x);
}

// Within 4e-7.
HWY_INLINE V tanh(D d, V x) {
  constexpr float kP[] = {1.0f, 0.13379717f, 0.0034940338f, 2.0583468e-5f, 1.3319053e-8f};
  constexpr float kQ[] = {1.0f, 0.46713033f, 0.02587107f, 0.00032830916f, 7.762012e-7f};
  return odd_ratio(d, 9.02f, kP, kQ, x);
}

HWY_INLINE V gelu(D d, V x) {
  const V half = hn::Mul(hn::Set(d, 0.5f), x);
  return hn::MulAdd(half, erf(d, hn::Mul(x, hn::Set(d, 0.70710678f))), half);
}

// 0.5 x (1 + tanh(u)) = x sigmoid(2 u), where u = sqrt(2 / pi) (x + 0.044715 x^3).
HWY_INLINE V gelu_by_tanh(D d, V x) {
  const V bent = hn::MulAdd(hn::Set(d, 0.044715f), hn::Mul(hn::Mul(x, x), x), x);
  return by_logistic(d, x, 1.5957691f, bent);
}

HWY_INLINE V hard_sigmoid(D d, float alpha, float beta, V x) {
  return clamp(d, 0, 1, hn::MulAdd(hn::Set(d, alpha), x, hn::Set(d, beta)));
}

HWY_INLINE V leaky(D d, V slope, V x) {
  return hn::IfThenElse(hn::Lt(x, hn::Zero(d)), hn::Mul(slope, x), x);
}

HWY_INLINE V swish(D d, float alpha, V x) { return by_logistic(d, x, alpha, x); }

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
