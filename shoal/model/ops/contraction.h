// Contraction: the axis along which a product multiplies its inputs and adds up. No operator is
// named: it is found by asking `split` and `infer`.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "shoal/model/graph/graph.h"

namespace shoal::ops {

// Axes of a node's first two inputs that it multiplies along and adds up.
struct Contraction {
  size_t axis = 0, weight_axis = 0;
  int64_t length = 0;
};

// Found from the operator's own record: it is linear, every element of its output reads those axes
// whole, and the output has the same type if both axes are shortened.
// Law: the node over some indices of both axes, and over the others without a bias, add up to the
// whole.
std::optional<Contraction> contraction_of(const Node& node, std::span<const Operand> inputs);

}  // namespace shoal::ops
