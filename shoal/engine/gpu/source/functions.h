// Element-wise functions in the language of kernels.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "shoal/model/ops/elementwise/fused_activation.h"

namespace shoal::gpu {

// Whether kernels have this function of one element, or of two.
bool is_unary(const Operator* op);
bool is_binary(const Operator* op);

// The value of a function as an expression. REQUIRES: kernels have it. An activation without an
// operator is x itself.
std::string call(const ops::Activation& function, const std::string& x);
std::string call(const Operator* op, const std::string& a, const std::string& b);

// The definitions of the functions that a text calls.
std::string definitions_for(const std::string& text);

}  // namespace shoal::gpu
