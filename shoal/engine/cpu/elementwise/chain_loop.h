// The inner loop of element-wise chains, compiled once per instruction set: an interpreter whose
// instructions work on a few vectors at a time. The result of a step stays in registers for the
// next.
#pragma once

#include <array>
#include <cstdint>

#include "shoal/engine/cpu/elementwise/elementwise_chain.h"

namespace shoal::cpu {

// Instructions on the running value x; v is another value.
enum class ChainOp : uint8_t {
  load,   // x = v
  store,  // v = x
// x = f(x) for functions of one value; x = f(x, v), and reversed x = f(v, x), for those of two.
#define SHOAL_UNARY_IF(name, ...) name,
#define SHOAL_BINARY(name, ...) name, name##_reversed,
#include "shoal/engine/cpu/elementwise/vector_functions.inc"
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

// Elements that an instruction works on.
int64_t chain_group();

// Runs a chain over n elements. An input has an element for each of them, where its period is 0, or
// its first `period` elements are repeated. y may be the memory of an input with period 0.
// REQUIRES: no period is longer than chain_group().
void run_chain(const ChainProgram& program, const std::array<const float*, kMaxChainInputs>& inputs,
               const std::array<int64_t, kMaxChainInputs>& periods, float* y, int64_t n);

}  // namespace shoal::cpu
