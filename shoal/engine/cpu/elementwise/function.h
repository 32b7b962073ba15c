// Element-wise functions of one input, as loops over vectors of the instruction set in use.
#pragma once

#include <cstdint>
#include <limits>
#include <span>

#include "shoal/model/ops/elementwise/fused_activation.h"

namespace shoal::cpu {

// y_i = f(x_i). x and y may be the same memory, but must not overlap otherwise.
struct Function {
  using Loop = void (*)(const ops::Activation& f, const float* x, float* y, int64_t n);

  Loop loop = nullptr;  // null: identity, and must not be called
  ops::Activation f = {};

  void operator()(const float* x, float* y, int64_t n) const { loop(f, x, y, n); }
};

// The operators of one input that vector_functions.inc has.
std::span<const Operator* const> vector_functions();

// The vector loop of an activation if vector_functions.inc has one, a scalar loop otherwise.
Function function_of(const ops::Activation& activation);

// Activation in the epilogue of a product. Clamps cost nothing next to a store and are applied in
// registers. Other functions make a second pass over elements that are still in the first-level
// cache.
struct Epilogue {
  Epilogue() = default;
  explicit Epilogue(const ops::Activation& activation);

  float low = -std::numeric_limits<float>::infinity();
  float high = std::numeric_limits<float>::infinity();
  Function pass;
};

}  // namespace shoal::cpu
