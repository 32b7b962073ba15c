// The interpreter of element-wise chains. A group of kVectors vectors goes through the whole
// program before the next one, so that a chain of s nodes reads its inputs and writes its output
// once instead of s times. Decoding an instruction costs one indirect jump per group; an
// instruction works on kVectors * kLanes elements, which hides it.
#include <algorithm>

#include "shoal/engine/cpu/elementwise/elementwise.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "shoal/engine/cpu/elementwise/chain_loop.cc"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

#include "shoal/engine/cpu/elementwise/vector_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace shoal::cpu::HWY_NAMESPACE {
namespace {

// Vectors of the running value: few enough to stay in registers, enough to spread the cost of
// decoding.
constexpr int kVectors = 8;
constexpr int64_t kGroup = kVectors * kLanes;

// x = f(x)
template <class F>
HWY_INLINE void each(V (&x)[kVectors], const F& f) {
#pragma GCC unroll 8
  for (int i = 0; i < kVectors; ++i) x[i] = f(D(), x[i]);
}
// x = f(x, v)
template <class F>
HWY_INLINE void each(V (&x)[kVectors], const float* v, const F& f) {
#pragma GCC unroll 8
  for (int i = 0; i < kVectors; ++i) x[i] = f(D(), x[i], hn::LoadU(D(), v + i * kLanes));
}

HWY_INLINE void execute(const ChainInstruction& what, V (&running)[kVectors], float* v) {
  const float alpha = what.alpha, beta = what.beta;
  switch (what.op) {
    case ChainOp::load:
      return each(running, v, [](D, V, V b) { return b; });
    case ChainOp::store:
#pragma GCC unroll 8
      for (int i = 0; i < kVectors; ++i) hn::StoreU(running[i], D(), v + i * kLanes);
      return;
#define SHOAL_UNARY_IF(name, condition, expression, otherwise)                     \
  case ChainOp::name:                                                              \
    if (condition) {                                                               \
      return each(running, [=]([[maybe_unused]] D d, V x) { return expression; }); \
    }                                                                              \
    return each(running, [=]([[maybe_unused]] D d, V x) { return otherwise; });
#define SHOAL_BINARY(name, ...)                                                          \
  case ChainOp::name:                                                                    \
    return each(running, v, []([[maybe_unused]] D d, V a, V b) { return __VA_ARGS__; }); \
  case ChainOp::name##_reversed:                                                         \
    return each(running, v, []([[maybe_unused]] D d, V b, V a) { return __VA_ARGS__; });
#include "shoal/engine/cpu/elementwise/vector_functions.inc"
  }
}

// Addresses of the values of a group. Inputs move on with the group; stored values stay. Inputs
// that repeat have been written out for a group from any element of their period on.
struct Values {
  std::array<float*, kMaxChainInputs + kMaxChainSteps> first;
  std::array<int64_t, kMaxChainInputs + kMaxChainSteps> periods;  // 0: has no period, moves on

  float* at(size_t v, int64_t i) const { return first[v] + (periods[v] == 0 ? i : i % periods[v]); }
};

HWY_INLINE void run_group(const ChainProgram& program, const Values& values, int64_t i, float* y) {
  V x[kVectors];
  for (V& v : x) v = hn::Zero(D());
  for (const ChainInstruction& what : program.instructions) {
    execute(what, x, values.at(what.value, i));
  }
#pragma GCC unroll 8
  for (int v = 0; v < kVectors; ++v) hn::StoreU(x[v], D(), y + v * kLanes);
}

void run_chain_here(const ChainProgram& program,
                    const std::array<const float*, kMaxChainInputs>& inputs,
                    const std::array<int64_t, kMaxChainInputs>& periods, float* y, int64_t n) {
  HWY_ALIGN float stored[kMaxChainSteps][kGroup], fixed[kMaxChainInputs][2 * kGroup], last[kGroup];
  Values values;
  values.periods.fill(1);
  for (size_t s = 0; s < kMaxChainSteps; ++s) values.first[program.inputs + s] = stored[s];
  for (size_t v = 0; v < program.inputs; ++v) {
    // Inputs are only ever loaded.
    values.first[v] = periods[v] != 0 ? fixed[v] : const_cast<float*>(inputs[v]);
    values.periods[v] = periods[v];
    for (int64_t i = 0; periods[v] != 0 && i < kGroup + periods[v]; ++i) {
      fixed[v][i] = i < periods[v] ? inputs[v][i] : fixed[v][i - periods[v]];
    }
  }
  int64_t i = 0;
  for (; i + kGroup <= n; i += kGroup) run_group(program, values, i, y + i);
  if (i == n) return;
  // The rest goes through buffers that are filled up with zeros.
  for (size_t v = 0; v < program.inputs; ++v) {
    if (periods[v] != 0) continue;
    std::fill(std::copy(inputs[v] + i, inputs[v] + n, fixed[v]), fixed[v] + kGroup, 0.0f);
    values.first[v] = fixed[v];
    values.periods[v] = 1;
  }
  run_group(program, values, i, last);
  std::copy_n(last, n - i, y + i);
}

int64_t chain_group_here() { return kGroup; }

}  // namespace
}  // namespace shoal::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace shoal::cpu {

HWY_EXPORT(run_chain_here);
HWY_EXPORT(chain_group_here);

int64_t chain_group() { return HWY_DYNAMIC_DISPATCH(chain_group_here)(); }

void run_chain(const ChainProgram& program, const std::array<const float*, kMaxChainInputs>& inputs,
               const std::array<int64_t, kMaxChainInputs>& periods, float* y, int64_t n) {
  HWY_DYNAMIC_DISPATCH(run_chain_here)(program, inputs, periods, y, n);
}

}  // namespace shoal::cpu
#endif  // HWY_ONCE
