// The list of operators. Adding one: write its record in ops/<name>.cc (or in the file of its
// family), and name it in list.inc.
#pragma once

#include <span>
#include <string_view>

#include "shoal/graph/operator.h"

namespace shoal::ops {

#define SHOAL_OPERATOR(name) extern const Operator name;
#include "shoal/ops/list.inc"
#undef SHOAL_OPERATOR

std::span<const Operator* const> all();
const Operator* find(std::string_view onnx_name);

}  // namespace shoal::ops
