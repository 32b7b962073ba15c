// Removes what a file should not carry: subnormal numbers, and parts of a network that no answer
// depends on.
#pragma once

#include <cstddef>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/engine/device/device.h"
#include "shoal/shrink/compress/units/groups.h"
#include "shoal/shrink/prune/result.h"
#include "shoal/shrink/retraining/networks.h"

namespace shoal::shrink {

// Replaces subnormal numbers in f32 and f64 constants, a result of weight decay, by 0: some
// processors take a hundred times as long for a product with one.
NetworkForBatch without_subnormals(NetworkForBatch network);

// The units that no answer depends on: wherever one is read, it is 0 or multiplied by 0. It counts
// as 0 if all weights that make it are, and it is 0 in a run. One unit of each group stays. Fails
// as the device does. REQUIRES: `groups` are those of the graph.
Result<std::vector<size_t>> dead_units(Device& device, const Graph& graph,
                                       const compress::Groups& groups);

// A network as it should be written.
struct Tidied {
  NetworkForBatch network;
  std::vector<GroupLeft> removed;  // groups that lost dead units, `before` counted here
};

// Merges a further loss of a group into `groups`.
void lower(std::vector<GroupLeft>& groups, const GroupLeft& more);

// The network without subnormal numbers, unused nodes, and removable dead units. Its answers are
// the same. Fails as dead_units() does.
Result<Tidied> tidied(Device& device, NetworkForBatch network);

}  // namespace shoal::shrink
