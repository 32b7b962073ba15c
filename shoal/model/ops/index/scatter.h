// The reductions by which scattered updates are combined with the elements that are there.
#pragma once

#include <cstddef>
#include <cstdint>

#include "shoal/model/graph/graph.h"

namespace shoal::ops {

// Combines n elements with as many updates, in place.
using Combine = void (*)(std::byte* elements, const std::byte* updates, int64_t n);

// The function that the attribute `reduction` names: none (a copy), add, mul, or, from opset 18,
// max and min. Integers wrap; for bool, add and max are "or", mul and min are "and".
Result<Combine> combine_of(const Node& node, DType dtype);

}  // namespace shoal::ops
