// Whether branches pay: how many are needed, how wide each should be, and how fast they are on a
// cluster beside the network as it is.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/model/graph/graph.h"
#include "shoal/plan/search/planner.h"
#include "shoal/shrink/branches/make_branches.h"

namespace shoal::branch {

// The smallest power of two, up to `most`, for which every branch fits the memory of one worker
// [Hadidi 2021, 5.1]; 1 if the network itself fits. Branches go to the workers in turn. kExhausted
// if there is none. REQUIRES: the cluster has a worker.
Result<size_t> fewest_branches(const Graph& graph, const plan::ClusterProfile& cluster,
                               double fatten, size_t most);

// Widths of as many branches as there are workers such that all workers take about as long. The
// work of a branch grows with its width, by the square of it within the branch, so these are not
// the speeds themselves. Widths start from the root of the speeds, and are corrected by the root of
// how much longer than the mean a branch takes.
Result<std::vector<double>> widths_for(const Graph& graph, const plan::ClusterProfile& cluster,
                                       double fatten);

// Each branch on one worker, as predicted, of a network of branches for one image, whose messages
// are in fewer bytes as `wire` allows. Nothing if a worker lacks the memory; kInvalidArgument if
// passes leave no branches.
Result<std::optional<plan::Prediction>> plan_of(const Graph& branched,
                                                const plan::ClusterProfile& cluster,
                                                const plan::WireOptions& wire = {});

// Networks on a cluster, as predicted.
struct Comparison {
  plan::Prediction branches;  // of the network with branches, each on one worker
  plan::Prediction ordinary;  // the best plan of the network as it was
  size_t messages = 0;        // of `branches`

  bool branches_are_faster() const { return branches.timeline.seconds < ordinary.timeline.seconds; }
};

// Both graphs are for one image, and are compared as passes leave them. kExhausted if one of them
// has no plan for want of memory.
Result<Comparison> compare(const Graph& graph, const Graph& branched,
                           const plan::ClusterProfile& cluster);

}  // namespace shoal::branch
