// Element-wise functions of one input, as loops over the vectors of the instruction set in use.
#pragma once

#include <cstdint>
#include <limits>
#include <span>

#include "shoal/ops/elementwise/fused_activation.h"

namespace shoal::cpu {

// y_i = f(x_i); x and y may be the same memory.
struct Function {
  using Loop = void (*)(const ops::Activation& f, const float* x, float* y, int64_t n);

  Loop loop = nullptr;  // null: nothing is to be done
  ops::Activation f = {};

  void operator()(const float* x, float* y, int64_t n) const { loop(f, x, y, n); }
};

// The operators of one input that vector_functions.inc has.
std::span<const Operator* const> vector_functions();

// Vectors where vector_functions.inc has the operator, otherwise one element after the other.
Function function_of(const ops::Activation& activation);

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
