// Loops of element-wise operators with two inputs, one per line SHOAL_BINARY of
// vector_functions.inc. They move up to 12 bytes per element and are limited by memory.
#include <algorithm>

#include "shoal/engine/cpu/elementwise/elementwise.h"
#include "shoal/model/ops/ops.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "shoal/engine/cpu/elementwise/binary_loops.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "shoal/engine/cpu/elementwise/vector_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace shoal::cpu::HWY_NAMESPACE {
namespace {

template <class F>
HWY_INLINE void combine(const float* a, int64_t a_step, const float* b, int64_t b_step, float* y,
                        int64_t n, const F& f) {
  const D d;
  const float first_a = *a, first_b = *b;  // y may be written over them
  if (a_step == 0) return map(b, y, n, [&](D, V v) { return f(d, hn::Set(d, first_a), v); });
  if (b_step == 0) return map(a, y, n, [&](D, V v) { return f(d, v, hn::Set(d, first_b)); });
  int64_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    hn::StoreU(f(d, hn::LoadU(d, a + i), hn::LoadU(d, b + i)), d, y + i);
  }
  for (; i < n; ++i) y[i] = hn::GetLane(f(d, hn::Set(d, a[i]), hn::Set(d, b[i])));
}

#define SHOAL_BINARY(name, ...)                                                 \
  void name##_here(const float* first, int64_t first_step, const float* second, \
                   int64_t second_step, float* y, int64_t n) {                  \
    combine(first, first_step, second, second_step, y, n,                       \
            []([[maybe_unused]] D d, V a, V b) { return __VA_ARGS__; });        \
  }
#include "shoal/engine/cpu/elementwise/vector_functions.inc"

// In the order of vector_pairs().
BinaryLoop binary_loop_here(size_t index) {
#define SHOAL_BINARY(name, ...) name##_here,
  static constexpr BinaryLoop kLoops[] = {
#include "shoal/engine/cpu/elementwise/vector_functions.inc"
  };
  return kLoops[index];
}

}  // namespace
}  // namespace shoal::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace shoal::cpu {

HWY_EXPORT(binary_loop_here);

std::span<const Operator* const> vector_pairs() {
#define SHOAL_BINARY(name, ...) &ops::name,
  static const Operator* const kOperators[] = {
#include "shoal/engine/cpu/elementwise/vector_functions.inc"
  };
  return kOperators;
}

BinaryLoop binary_loop(const Operator* op) {
  const auto all = vector_pairs();
  const auto found = std::ranges::find(all, op);
  SHOAL_CHECK(found != all.end());
  return HWY_DYNAMIC_DISPATCH(binary_loop_here)(static_cast<size_t>(found - all.begin()));
}

}  // namespace shoal::cpu
#endif  // HWY_ONCE
