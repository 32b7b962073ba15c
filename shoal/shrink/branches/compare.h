// Whether branches pay: how many, how wide, and how fast on a cluster compared with the network
// itself.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/model/graph/graph.h"
#include "shoal/plan/search/planner.h"
#include "shoal/shrink/branches/make_branches.h"

namespace shoal::branch {

// The smallest power of two, up to `most`, for which every branch fits one worker's memory [Hadidi
// 2021, 5.1]; 1 if the network fits. Branches go to workers in turn. kExhausted if there is none.
// REQUIRES: the cluster has a worker.
Result<size_t> fewest_branches(const Graph& graph, const plan::ClusterProfile& cluster,
                               double fatten, size_t most);

// Widths of one branch per worker with which all workers take about the same time. A branch's inner
// work grows with the square of its width, so widths start from the root of the speeds, and are
// corrected by the root of how much longer than the mean a branch takes.
Result<std::vector<double>> widths_for(const Graph& graph, const plan::ClusterProfile& cluster,
                                       double fatten);

// The predicted time of a network of branches for one image, each on one worker, with messages in
// fewer bytes as `wire` allows. nullopt if a worker lacks the memory; kInvalidArgument if passes
// leave no branches.
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

// Both graphs are for one image, and are compared after optimization passes. kExhausted if one of
// them has no plan for lack of memory.
Result<Comparison> compare(const Graph& graph, const Graph& branched,
                           const plan::ClusterProfile& cluster);

struct Widest {
  BranchOptions branches;
  std::vector<size_t> blocks = {};  // residual blocks that no branch has, by number
  int64_t macs = 0;                 // of all branches, for one image
  plan::Prediction made;            // by which they are fast enough
};

// Of all numbers of branches up to that of workers, and all widths, those with the most
// multiply-accumulates that take at most `seconds`. A branch that gets its image later is narrower.
// nullopt if even the narrowest are too slow. `graph` is for one image; messages are in fewer bytes
// as `wire` allows. Fails as make_branches() does.
Result<std::optional<Widest>> widest_branches(const Graph& graph,
                                              const plan::ClusterProfile& cluster, double seconds,
                                              const plan::WireOptions& wire = {});

// The same, but also drops residual blocks of all branches, in this order, until depth saves as
// much as width: networks that are thin and deep, or wide and flat, learn less from the same work.
// REQUIRES: the order has numbers of residual_blocks(graph).
Result<std::optional<Widest>> balanced_branches(const Graph& graph, std::span<const size_t> order,
                                                const plan::ClusterProfile& cluster, double seconds,
                                                const plan::WireOptions& wire = {});

}  // namespace shoal::branch
