// Round robin: stages as plans, one for each request of a round.
#pragma once

#include <vector>

#include "shoal/plan/cost/simulate.h"
#include "shoal/plan/stream/stages.h"

namespace shoal::plan {

inline constexpr size_t kMaxRoundRobin = 240;

// Request r is computed by plan r % size. Each stage gives each request to the worker that would be
// done with it first. There are at most `most` plans.
Result<std::vector<ScheduledPlan>> make_round_robin(const Graph& graph,
                                                    const ClusterProfile& cluster,
                                                    const std::vector<Stage>& stages,
                                                    size_t most = kMaxRoundRobin);

}  // namespace shoal::plan
