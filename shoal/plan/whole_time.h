// The time of a whole graph on a device, as plans and emulation take it.
#pragma once

#include "shoal/model/graph/graph.h"
#include "shoal/plan/profile.h"

namespace shoal::plan {

// By the rooflines of the graph's nodes; for the training steps of a device whose times were
// published (the preset nexus5x-mxnet), by those.
double seconds_of_whole(const Graph& graph, const WorkerProfile& worker);

}  // namespace shoal::plan
