// The log of a scheduler: a line for each decision that says what was chosen, what was left of the
// budgets, and what spoke against every other option.
#pragma once

#include <string>

#include "shoal/variants/scheduler/scheduler.h"

namespace shoal::schedule {

// "12.034 faces: v2 here 0.914, loads; charged 0.031 J, $0; left 31.2 J, $0.4; prices
// 0.13/J, 14.5/$; v0 here: too slow, v0 cloud: lower score (0.891), v2 here: taken (0.902)".
// REQUIRES: the decision is about this catalog.
std::string explain(const Catalog& catalog, const Decision& decision);

}  // namespace shoal::schedule
