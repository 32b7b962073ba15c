// Turns: stages as plans, one for each request of a round.
#pragma once

#include <vector>

#include "shoal/plan/simulate.h"
#include "shoal/plan/stages.h"

namespace shoal::plan {

inline constexpr size_t kMostTurns = 240;

// Request r is computed by plan r % size. Every stage gives each request to whichever of its
// workers would be done with it first. There are at most so many plans.
Result<std::vector<ScheduledPlan>> make_turns(const Graph& graph, const ClusterProfile& cluster,
                                              const std::vector<Stage>& stages,
                                              size_t most = kMostTurns);

}  // namespace shoal::plan
