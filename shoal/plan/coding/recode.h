// Recode: plans that differ from a given one in what can be coded.
#pragma once

#include <vector>

#include "shoal/plan/layout.h"

namespace shoal::plan {

// The plan once for each segment that would be repeated and can be coded if it is split by channels
// as `layout` says, with that segment split so: one segment for each of its products.
std::vector<Plan> with_one_more_coded(const Graph& graph, const Plan& plan, const Layout& layout,
                                      size_t losses, const std::vector<int>& workers);

}  // namespace shoal::plan
