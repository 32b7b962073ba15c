// ElementwiseChain: several element-wise nodes in one, whose intermediate results stay in registers
// or in the first-level cache. An operator that only the CPU has. Chains are made last, of nodes
// that no other pass has fused.
#pragma once

#include <optional>
#include <vector>

#include "shoal/model/graph/graph.h"

namespace shoal::cpu {

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

}  // namespace shoal::cpu
