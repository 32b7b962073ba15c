// The table of operators, by name. It is constant: any thread may read it at any time.
#pragma once

#include <span>
#include <string_view>

#include "shoal/model/graph/operator.h"

#pragma GCC visibility push(default)

namespace shoal::ops {

// Every operator, in the order of docs/reference/operators.md.
std::span<const Operator* const> all();

// The operator of this name, ONNX's ("Conv") or that of one of Shoal's own ("FusedConv"). Null
// if there is none.
const Operator* find(std::string_view name);

}  // namespace shoal::ops

#pragma GCC visibility pop
