// The operators there are, by name.
#pragma once

#include <span>
#include <string_view>

#include "shoal/graph/operator.h"

#pragma GCC visibility push(default)

namespace shoal::ops {

// Every operator, in the order of docs/operators.md.
std::span<const Operator* const> all();

// The operator of this ONNX name ("Conv") or, of Shoal's own, of this name ("FusedConv"); null
// where there is none.
const Operator* find(std::string_view name);

}  // namespace shoal::ops

#pragma GCC visibility pop
