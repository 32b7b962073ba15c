// What the gradients of reductions ask of them.
#pragma once

#include "shoal/graph/graph.h"

namespace shoal::ops {

// The output's shape as it is with keepdims: that of the input, 1 along the axes that go.
Shape kept_shape(const Node& node, std::span<const Operand> inputs);

}  // namespace shoal::ops
