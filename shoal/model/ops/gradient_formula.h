// Gradients of operators that are a formula of others. The formula is appended to the graph, then
// the gradients of its nodes in reverse order. The outputs of the operator are thus computed a
// second time; in return no gradient has to be derived by hand.
#pragma once

#include <functional>

#include "shoal/model/graph/graph.h"

namespace shoal::ops {

class Chain;

// `formula` gives the outputs of the node from its inputs. REQUIRES: every operator that it adds
// has a gradient.
Result<std::vector<ValueId>> gradient_of_formula(
    const Node& node, std::span<const ValueId> outputs, Graph& graph,
    const std::function<std::vector<ValueId>(Chain& chain)>& formula);

}  // namespace shoal::ops
