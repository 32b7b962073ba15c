// Inner loops of element-wise operators with two inputs, compiled once per instruction set.
#pragma once

#include <cstdint>
#include <span>

#include "shoal/model/graph/operator.h"

namespace shoal::cpu {

// y_i = f(a_i, b_i) for n elements. Steps are 1, or 0 to repeat the first element. y may be the
// memory of an operand with step 1.
using BinaryLoop = void (*)(const float* a, int64_t a_step, const float* b, int64_t b_step,
                            float* y, int64_t n);

// The operators of two inputs that vector_functions.inc has.
std::span<const Operator* const> vector_pairs();

BinaryLoop binary_loop(const Operator* op);  // REQUIRES: `op` is one of them

}  // namespace shoal::cpu
