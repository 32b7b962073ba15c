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

// The same turns with every stage computed by `survive` workers more, so that each survives the
// loss of so many. All turns are for one graph, which need not be the same object as before.
Result<std::vector<ScheduledPlan>> repeat(const Graph& graph, std::vector<ScheduledPlan> turns,
                                          int survive, std::vector<int> workers,
                                          double wait_seconds = 0);

}  // namespace shoal::plan
