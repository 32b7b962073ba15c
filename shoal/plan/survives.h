// Answers: what a plan can do without.
#pragma once

#include <span>

#include "shoal/plan/plan.h"

namespace shoal::plan {

// Does the answer come when these workers give nothing?
bool survives_loss(const Graph& graph, const Plan& plan, const Schedule& schedule,
                   std::span<const int> lost);

// Whichever workers are lost, if they are no more than the plan is said to survive. The error names
// those that it cannot do without.
Status verify_survival(const Graph& graph, const Plan& plan, const Schedule& schedule);

}  // namespace shoal::plan
