// Shapes of reductions, for their gradients.
#pragma once

#include "shoal/model/graph/graph.h"

namespace shoal::ops {

// The shape of the output with keepdims: that of the input, 1 along the reduced axes. REQUIRES:
// `infer` has accepted the node.
Shape kept_shape(const Node& node, std::span<const Operand> inputs);

}  // namespace shoal::ops
