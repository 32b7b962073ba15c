// How much of a network its branches may have, if a cluster has to answer in time.
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

// Branches that are fast enough.
struct Widest {
  BranchOptions branches;
  std::vector<size_t> blocks = {};  // residual blocks that no branch has, by number
  int64_t macs = 0;                 // of all branches, for one image
  plan::Prediction made;            // by which they are fast enough
};

// Of all numbers of branches up to that of the workers, and all widths, those with most
// multiply-accumulates that take at most so long. A branch whose image comes later than the others'
// is narrower. Nothing if even the narrowest are too slow. `graph` is for one image; messages are
// in fewer bytes as `wire` allows. Fails as make_branches() does.
Result<std::optional<Widest>> widest_branches(const Graph& graph,
                                              const plan::ClusterProfile& cluster, double seconds,
                                              const plan::WireOptions& wire = {});

// The same, but where branches would become narrow, residual blocks are left out of all of them, in
// this order: as many as it takes that depth saves as much as width does. Networks that are both
// thin and deep, or both wide and flat, learn less of the same work. REQUIRES: the order has
// numbers of residual_blocks(graph).
Result<std::optional<Widest>> balanced_branches(const Graph& graph, std::span<const size_t> order,
                                                const plan::ClusterProfile& cluster, double seconds,
                                                const plan::WireOptions& wire = {});

}  // namespace shoal::branch
