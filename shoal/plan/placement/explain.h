// Why each camera's network is where it is: what would be worse on the best other machine.
#pragma once

#include <vector>

#include "shoal/plan/placement/options.h"

namespace shoal::placement {

// Fills in `why` of each camera. `found` are the options of the placement.
void explain(const Problem& problem, const Resources& resources,
             const std::vector<std::vector<Option>>& options,
             const std::vector<const Option*>& found, Placement& placement);

}  // namespace shoal::placement
