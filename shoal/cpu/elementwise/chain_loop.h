// The inner loop of chain_kernel.cc, compiled once per instruction set: a few vectors at a time go
// through all steps without leaving their registers, as far as each step works on the last one's
// result.
#pragma once

#include <array>
#include <cstdint>

#include "shoal/cpu/elementwise/elementwise_chain.h"

namespace shoal::cpu {

// What happens to the running value, x; v is another value.
enum class ChainOp : uint8_t {
  load,   // x = v
  store,  // v = x
// x = f(x) for functions of one value; x = f(x, v), and reversed x = f(v, x), for those of two.
#define SHOAL_UNARY_IF(name, ...) name,
#define SHOAL_BINARY(name, ...) name, name##_reversed,
#include "shoal/cpu/elementwise/vector_functions.inc"
};

struct ChainInstruction {
  ChainOp op;
  uint8_t value = 0;  // v: the inputs come first, then what was stored
  float alpha = 0, beta = 0;
};

struct ChainProgram {
  std::vector<ChainInstruction> instructions;
  size_t inputs = 0;
};

// n elements; an input whose step is 0 gives its first to all of them. y may be the memory of an
// input that steps.
void run_chain(const ChainProgram& program, const std::array<const float*, kMaxChainInputs>& inputs,
               const std::array<int64_t, kMaxChainInputs>& steps, float* y, int64_t n);

}  // namespace shoal::cpu
