// The sparse layers that a plan may compute by clusters.
#pragma once

#include <vector>

#include "shoal/plan/layout.h"
#include "shoal/plan/profile.h"
#include "shoal/plan/sparse/clustered_layers.h"

namespace shoal::plan {

// All layers that can be clustered, each over the workers of the layout; the first worker is the
// hub. Speeds are what the profiles predict for the layer.
std::vector<ClusteredLayer> find_clustered_layers(const Graph& graph, const ClusterProfile& cluster,
                                                  const Layout& layout);

// Bytes that travel to and from segments that are computed by clusters.
int64_t cluster_bytes(const Graph& graph, const Plan& plan, const Schedule& schedule);

// Whether tasks with these inputs are clusters: no two read the same element.
bool are_disjoint(const TaskInputs& inputs);

}  // namespace shoal::plan
