// Survival: whether a plan still gives the answer when workers are lost.
#pragma once

#include <span>

#include "shoal/plan/plan.h"

namespace shoal::plan {

// Whether the coordinator gets the answer when these workers contribute nothing.
bool survives_loss(const Graph& graph, const Plan& plan, const Schedule& schedule,
                   std::span<const int> lost);

// Checks every set of plan.survives workers. The error names a set that the plan cannot do without.
Status verify_survival(const Graph& graph, const Plan& plan, const Schedule& schedule);

}  // namespace shoal::plan
