// Element-wise loops of the CPU: functions of one operand, pairs, rows of narrow types, and chains
// of such operators that run as one pass. Each loop is compiled once per instruction set.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "shoal/model/graph/graph.h"
#include "shoal/model/graph/operator.h"
#include "shoal/model/ops/elementwise/fused_activation.h"

namespace shoal::cpu {

// Element-wise functions of one input, as loops over vectors of the instruction set in use.

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

// Inner loops of element-wise operators with two inputs, compiled once per instruction set.

// y_i = f(a_i, b_i) for n elements. Steps are 1, or 0 to repeat the first element. y may be an
// operand with step 1.
using BinaryLoop = void (*)(const float* a, int64_t a_step, const float* b, int64_t b_step,
                            float* y, int64_t n);

// The operators of two inputs that vector_functions.inc has.
std::span<const Operator* const> vector_pairs();

BinaryLoop binary_loop(const Operator* op);  // REQUIRES: `op` is one of them

// Conversion of floats to bfloat16, which are kept as bits in uint16_t, and back.

// Loops over n elements. x and y must not overlap.
using Narrow = void (*)(const float* x, uint16_t* y, int64_t n);
using Widen = void (*)(const uint16_t* x, float* y, int64_t n);

Narrow round_to_bfloat16();     // to nearest, ties to even
Narrow truncate_to_bfloat16();  // towards zero
Widen widen_bfloat16();         // exact

// ElementwiseChain: several element-wise nodes in one, whose intermediate results stay in registers
// or in the first-level cache. An operator that only the CPU has. Chains are made last, from nodes
// that no other pass has fused.

extern const Operator elementwise_chain;

// y = op(operands). Operands count the inputs of the chain, then the results of earlier steps.
struct ChainStep {
  const Operator* op = nullptr;  // vector_functions.inc has it
  std::vector<size_t> operands;
  float alpha = 0, beta = 0;  // the parameters of a function of one operand
};

// Longer chains gain nothing, and all values of a group should fit into the first-level cache.
inline constexpr size_t kMaxChainInputs = 6, kMaxChainSteps = 8;

// The node as a step without operands; nullopt if it cannot be one.
std::optional<ChainStep> as_step(const Graph& graph, const Node& node);

// Steps as attributes of a node, which makes chains printable, and back.
Attributes to_attributes(const std::vector<ChainStep>& steps);
std::vector<ChainStep> steps_of(const Node& chain);

// Joins nodes whose results have the same type and a single reader into chains.
Result<Graph> chain_elementwise(const Graph& graph);

// The inner loop of element-wise chains, compiled once per instruction set: an interpreter whose
// instructions work on a few vectors at a time. The result of a step stays in registers for the
// next.

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
  uint8_t value = 0;  // v: the inputs come first, then stored values
  float alpha = 0, beta = 0;
};

struct ChainProgram {
  std::vector<ChainInstruction> instructions;
  size_t inputs = 0;
};

// Elements that an instruction works on.
int64_t chain_group();

// Runs a chain over n elements. An input with period 0 has an element for each of them; otherwise
// its first `period` elements are repeated. y may be the memory of an input with period 0.
// REQUIRES: no period is longer than chain_group().
void run_chain(const ChainProgram& program, const std::array<const float*, kMaxChainInputs>& inputs,
               const std::array<int64_t, kMaxChainInputs>& periods, float* y, int64_t n);

}  // namespace shoal::cpu
