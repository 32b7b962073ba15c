// The inner loops of binary.cc, compiled once per instruction set.
#pragma once

#include <cstdint>
#include <span>

#include "shoal/graph/operator.h"

namespace shoal::cpu {

// y_i = f(a_i, b_i) for n elements; a step of 0 repeats the first. y may be the memory of an
// operand that steps.
using BinaryLoop = void (*)(const float* a, int64_t a_step, const float* b, int64_t b_step,
                            float* y, int64_t n);

// The operators of two inputs that vector_functions.inc has.
std::span<const Operator* const> vector_pairs();

BinaryLoop binary_loop(const Operator* op);  // REQUIRES: `op` is one of them

}  // namespace shoal::cpu
