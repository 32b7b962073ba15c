// ElementwiseChain: several element-wise nodes in one, whose results on the way never leave the
// first-level cache. An operator that only the CPU knows, made last, of what else has left over.
#pragma once

#include <optional>
#include <vector>

#include "shoal/graph/graph.h"

namespace shoal::cpu {

extern const Operator elementwise_chain;

// y = op(operands). Operands are the inputs of the chain, then the results of the steps before.
struct ChainStep {
  const Operator* op = nullptr;  // vector_functions.inc has it
  std::vector<size_t> operands;
  float alpha = 0, beta = 0;  // the parameters of a function of one operand
};

// Longer chains gain nothing, and all of one should fit into the cache.
inline constexpr size_t kMaxChainInputs = 6, kMaxChainSteps = 8;

// The node as a step, but for its operands; nothing if it cannot be one.
std::optional<ChainStep> as_step(const Graph& graph, const Node& node);

Attributes to_attributes(const std::vector<ChainStep>& steps);
std::vector<ChainStep> steps_of(const Node& chain);

// Makes chains of nodes whose values have one shape and only one reader.
Result<Graph> chain_elementwise(const Graph& graph);

}  // namespace shoal::cpu
