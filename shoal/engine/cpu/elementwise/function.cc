// Loops of element-wise functions with one input, one per line SHOAL_UNARY of vector_functions.inc.
// A condition on parameters is decided outside of the loop.
#include <algorithm>

#include "shoal/engine/cpu/elementwise/elementwise.h"
#include "shoal/model/ops/ops.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "shoal/engine/cpu/elementwise/function.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "shoal/engine/cpu/elementwise/vector_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace shoal::cpu::HWY_NAMESPACE {
namespace {

#define SHOAL_UNARY_IF(name, condition, expression, otherwise)                          \
  void name##_here(const ops::Activation& f, const float* from, float* to, int64_t n) { \
    [[maybe_unused]] const float alpha = f.alpha, beta = f.beta;                        \
    if (condition) {                                                                    \
      map(from, to, n, [=]([[maybe_unused]] D d, V x) { return expression; });          \
    } else {                                                                            \
      map(from, to, n, [=]([[maybe_unused]] D d, V x) { return otherwise; });           \
    }                                                                                   \
  }
#include "shoal/engine/cpu/elementwise/vector_functions.inc"

// In the order of vector_functions().
Function::Loop unary_loop_here(size_t index) {
#define SHOAL_UNARY_IF(name, ...) name##_here,
  static constexpr Function::Loop kLoops[] = {
#include "shoal/engine/cpu/elementwise/vector_functions.inc"
  };
  return kLoops[index];
}

}  // namespace
}  // namespace shoal::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace shoal::cpu {

HWY_EXPORT(unary_loop_here);

namespace {

void scalar_loop(const ops::Activation& f, const float* x, float* y, int64_t n) {
  std::transform(x, x + n, y, [&](float v) { return f(v); });
}

}  // namespace

std::span<const Operator* const> vector_functions() {
#define SHOAL_UNARY_IF(name, ...) &ops::name,
  static const Operator* const kOperators[] = {
#include "shoal/engine/cpu/elementwise/vector_functions.inc"
  };
  return kOperators;
}

Function function_of(const ops::Activation& activation) {
  if (activation.op == nullptr) return {};
  const auto all = vector_functions();
  const auto found = std::ranges::find(all, activation.op);
  if (found == all.end()) return {scalar_loop, activation};
  const auto index = static_cast<size_t>(found - all.begin());
  return {HWY_DYNAMIC_DISPATCH(unary_loop_here)(index), activation};
}

Epilogue::Epilogue(const ops::Activation& activation) {
  if (activation.op != nullptr && activation.op->elementwise.clamps) {
    low = activation.alpha;
    high = activation.beta;
  } else {
    pass = function_of(activation);
  }
}

}  // namespace shoal::cpu
#endif  // HWY_ONCE
