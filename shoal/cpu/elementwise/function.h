// Element-wise functions of one input, as loops over the vectors of the instruction set in use.
#pragma once

#include <cstdint>
#include <limits>

#include "shoal/ops/elementwise/fused_activation.h"

namespace shoal::cpu {

// y_i = f(x_i); x and y may be the same memory.
struct Function {
  using Loop = void (*)(float alpha, float beta, const float* x, float* y, int64_t n);

  Loop loop = nullptr;  // null: nothing is to be done
  float alpha = 0, beta = 0;

  void operator()(const float* x, float* y, int64_t n) const { loop(alpha, beta, x, y, n); }
};

Function function_of(const ops::Activation& activation);
Function abs_function();
Function erf_function();
Function exp_function();
Function neg_function();
Function sqrt_function();

// What may follow a product before it is stored. Clamping costs nothing next to a store; other
// functions make a second pass over elements that are still in the first-level cache.
struct Activation {
  Activation() = default;
  explicit Activation(const ops::Activation& activation);

  float low = -std::numeric_limits<float>::infinity();
  float high = std::numeric_limits<float>::infinity();
  Function pass;
};

}  // namespace shoal::cpu
