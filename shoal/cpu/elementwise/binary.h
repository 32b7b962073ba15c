// The inner loops of binary.cc, compiled once per instruction set.
#pragma once

#include <cstdint>

namespace shoal::cpu {

// y_i = f(a_i, b_i) for n elements; a step of 0 repeats the first. y may be the memory of an
// operand that steps.
using BinaryLoop = void (*)(const float* a, int64_t a_step, const float* b, int64_t b_step,
                            float* y, int64_t n);

BinaryLoop add_loop();
BinaryLoop div_loop();
BinaryLoop max_loop();
BinaryLoop min_loop();
BinaryLoop mul_loop();
BinaryLoop prelu_loop();
BinaryLoop relu_backward_loop();
BinaryLoop sub_loop();

}  // namespace shoal::cpu
