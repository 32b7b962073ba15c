#include "shoal/cpu/elementwise/function.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "shoal/cpu/elementwise/function.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "shoal/cpu/elementwise/vector_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace shoal::cpu::HWY_NAMESPACE {
namespace {

void abs_here(float, float, const float* x, float* y, int64_t n) {
  map(x, y, n, [](D, V v) { return hn::Abs(v); });
}
void clip_here(float low, float high, const float* x, float* y, int64_t n) {
  map(x, y, n, [=](D d, V v) { return at_most(hn::Set(d, high), at_least(hn::Set(d, low), v)); });
}
void erf_here(float, float, const float* x, float* y, int64_t n) {
  map(x, y, n, [](D d, V v) { return erf(d, v); });
}
void exp_here(float, float, const float* x, float* y, int64_t n) {
  map(x, y, n, [](D d, V v) { return exp(d, v); });
}
void gelu_here(float, float, const float* x, float* y, int64_t n) {
  map(x, y, n, [](D d, V v) { return gelu(d, v); });
}
void hard_sigmoid_here(float alpha, float beta, const float* x, float* y, int64_t n) {
  map(x, y, n, [=](D d, V v) { return hard_sigmoid(d, alpha, beta, v); });
}
void hard_swish_here(float, float, const float* x, float* y, int64_t n) {
  map(x, y, n, [](D d, V v) { return hn::Mul(v, hard_sigmoid(d, 1.0f / 6, 0.5f, v)); });
}
void leaky_relu_here(float alpha, float, const float* x, float* y, int64_t n) {
  map(x, y, n, [=](D d, V v) { return leaky(d, hn::Set(d, alpha), v); });
}
void neg_here(float, float, const float* x, float* y, int64_t n) {
  map(x, y, n, [](D, V v) { return hn::Neg(v); });
}
void sigmoid_here(float, float, const float* x, float* y, int64_t n) {
  map(x, y, n, [](D d, V v) { return sigmoid(d, v); });
}
void sqrt_here(float, float, const float* x, float* y, int64_t n) {
  map(x, y, n, [](D, V v) { return hn::Sqrt(v); });
}
void swish_here(float alpha, float, const float* x, float* y, int64_t n) {
  map(x, y, n, [=](D d, V v) { return swish(d, alpha, v); });
}
void tanh_here(float, float, const float* x, float* y, int64_t n) {
  map(x, y, n, [](D d, V v) { return tanh(d, v); });
}

}  // namespace
}  // namespace shoal::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace shoal::cpu {

HWY_EXPORT(abs_here);
HWY_EXPORT(clip_here);
HWY_EXPORT(erf_here);
HWY_EXPORT(exp_here);
HWY_EXPORT(gelu_here);
HWY_EXPORT(hard_sigmoid_here);
HWY_EXPORT(hard_swish_here);
HWY_EXPORT(leaky_relu_here);
HWY_EXPORT(neg_here);
HWY_EXPORT(sigmoid_here);
HWY_EXPORT(sqrt_here);
HWY_EXPORT(swish_here);
HWY_EXPORT(tanh_here);

Function abs_function() { return {HWY_DYNAMIC_DISPATCH(abs_here)}; }
Function erf_function() { return {HWY_DYNAMIC_DISPATCH(erf_here)}; }
Function exp_function() { return {HWY_DYNAMIC_DISPATCH(exp_here)}; }
Function neg_function() { return {HWY_DYNAMIC_DISPATCH(neg_here)}; }
Function sqrt_function() { return {HWY_DYNAMIC_DISPATCH(sqrt_here)}; }

Function function_of(const ops::Activation& activation) {
  using enum ops::Activation::Kind;
  const float alpha = activation.alpha, beta = activation.beta;
  switch (activation.kind) {
    case kNone:
      return {};
    case kRelu:
      return {HWY_DYNAMIC_DISPATCH(clip_here), 0, std::numeric_limits<float>::infinity()};
    case kLeakyRelu:
      return {HWY_DYNAMIC_DISPATCH(leaky_relu_here), alpha, beta};
    case kClip:
      return {HWY_DYNAMIC_DISPATCH(clip_here), alpha, beta};
    case kSigmoid:
      return {HWY_DYNAMIC_DISPATCH(sigmoid_here)};
    case kTanh:
      return {HWY_DYNAMIC_DISPATCH(tanh_here)};
    case kHardSigmoid:
      return {HWY_DYNAMIC_DISPATCH(hard_sigmoid_here), alpha, beta};
    case kHardSwish:
      return {HWY_DYNAMIC_DISPATCH(hard_swish_here)};
    case kGelu:
      return {HWY_DYNAMIC_DISPATCH(gelu_here)};
    case kSwish:
      return {HWY_DYNAMIC_DISPATCH(swish_here), alpha, beta};
  }
  return {};
}

Activation::Activation(const ops::Activation& activation) {
  using enum ops::Activation::Kind;
  if (activation.kind == kRelu) {
    low = 0;
  } else if (activation.kind == kClip) {
    low = activation.alpha;
    high = activation.beta;
  } else {
    pass = function_of(activation);
  }
}

}  // namespace shoal::cpu
#endif  // HWY_ONCE
