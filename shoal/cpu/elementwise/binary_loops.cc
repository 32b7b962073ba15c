#include "shoal/cpu/elementwise/binary.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "shoal/cpu/elementwise/binary_loops.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "shoal/cpu/elementwise/vector_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace shoal::cpu::HWY_NAMESPACE {
namespace {

template <class F>
HWY_INLINE void combine(const float* a, int64_t a_step, const float* b, int64_t b_step, float* y,
                        int64_t n, const F& f) {
  const D d;
  const float first_a = *a, first_b = *b;  // y may be written over them
  if (a_step == 0) return map(b, y, n, [&](D, V v) { return f(hn::Set(d, first_a), v); });
  if (b_step == 0) return map(a, y, n, [&](D, V v) { return f(v, hn::Set(d, first_b)); });
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    hn::StoreU(f(hn::LoadU(d, a + i), hn::LoadU(d, b + i)), d, y + i);
  }
  for (; i < n; ++i) y[i] = hn::GetLane(f(hn::Set(d, a[i]), hn::Set(d, b[i])));
}

void add_here(const float* a, int64_t as, const float* b, int64_t bs, float* y, int64_t n) {
  combine(a, as, b, bs, y, n, [](V u, V v) { return hn::Add(u, v); });
}
void div_here(const float* a, int64_t as, const float* b, int64_t bs, float* y, int64_t n) {
  combine(a, as, b, bs, y, n, [](V u, V v) { return hn::Div(u, v); });
}
// As ops/extrema.h has it: a NaN wins.
void max_here(const float* a, int64_t as, const float* b, int64_t bs, float* y, int64_t n) {
  combine(a, as, b, bs, y, n,
          [](V u, V v) { return hn::IfThenElse(hn::Or(hn::Gt(v, u), hn::IsNaN(v)), v, u); });
}
void min_here(const float* a, int64_t as, const float* b, int64_t bs, float* y, int64_t n) {
  combine(a, as, b, bs, y, n,
          [](V u, V v) { return hn::IfThenElse(hn::Or(hn::Lt(v, u), hn::IsNaN(v)), v, u); });
}
void mul_here(const float* a, int64_t as, const float* b, int64_t bs, float* y, int64_t n) {
  combine(a, as, b, bs, y, n, [](V u, V v) { return hn::Mul(u, v); });
}
void prelu_here(const float* a, int64_t as, const float* b, int64_t bs, float* y, int64_t n) {
  combine(a, as, b, bs, y, n, [](V x, V slope) { return leaky(D(), slope, x); });
}
void relu_backward_here(const float* a, int64_t as, const float* b, int64_t bs, float* y,
                        int64_t n) {
  combine(a, as, b, bs, y, n,
          [](V u, V v) { return hn::IfThenElseZero(hn::Gt(u, hn::Zero(D())), v); });
}
void sub_here(const float* a, int64_t as, const float* b, int64_t bs, float* y, int64_t n) {
  combine(a, as, b, bs, y, n, [](V u, V v) { return hn::Sub(u, v); });
}

}  // namespace
}  // namespace shoal::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace shoal::cpu {

HWY_EXPORT(add_here);
HWY_EXPORT(div_here);
HWY_EXPORT(max_here);
HWY_EXPORT(min_here);
HWY_EXPORT(mul_here);
HWY_EXPORT(prelu_here);
HWY_EXPORT(relu_backward_here);
HWY_EXPORT(sub_here);

BinaryLoop add_loop() { return HWY_DYNAMIC_DISPATCH(add_here); }
BinaryLoop div_loop() { return HWY_DYNAMIC_DISPATCH(div_here); }
BinaryLoop max_loop() { return HWY_DYNAMIC_DISPATCH(max_here); }
BinaryLoop min_loop() { return HWY_DYNAMIC_DISPATCH(min_here); }
BinaryLoop mul_loop() { return HWY_DYNAMIC_DISPATCH(mul_here); }
BinaryLoop prelu_loop() { return HWY_DYNAMIC_DISPATCH(prelu_here); }
BinaryLoop relu_backward_loop() { return HWY_DYNAMIC_DISPATCH(relu_backward_here); }
BinaryLoop sub_loop() { return HWY_DYNAMIC_DISPATCH(sub_here); }

}  // namespace shoal::cpu
#endif  // HWY_ONCE
