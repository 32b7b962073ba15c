// Gradients of operators that are a formula of others: the formula is appended to the graph, and
// then the way back through it. It computes the operator's outputs once more.
#pragma once

#include <functional>

#include "shoal/graph/graph.h"

namespace shoal::ops {

class Chain;

// `formula` gives the outputs of the node from its inputs, by operators that have gradients.
Result<std::vector<ValueId>> gradient_of_formula(
    const Node& node, std::span<const ValueId> outputs, Graph& graph,
    const std::function<std::vector<ValueId>(Chain& chain)>& formula);

}  // namespace shoal::ops
