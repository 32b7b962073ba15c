// The list of operators. Adding one: write its record in ops/<name>.cc (or in the file of its
// family), and name it in list.inc.
#pragma once

#include "shoal/model/graph/operator.h"
#include "shoal/model/ops/find.h"

namespace shoal::ops {

#define SHOAL_OPERATOR(name) extern const Operator name;
#include "shoal/model/ops/list.inc"
#undef SHOAL_OPERATOR

}  // namespace shoal::ops
