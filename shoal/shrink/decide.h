// What goes: the decision between the given network and the smaller one, and how it reads.
#pragma once

#include <vector>

#include "shoal/base/status.h"
#include "shoal/compress/groups.h"
#include "shoal/data/dataset.h"
#include "shoal/device/device.h"
#include "shoal/shrink/networks.h"
#include "shoal/shrink/result.h"
#include "shoal/shrink/shrink_options.h"

namespace shoal::shrink {

// Units to remove, of the groups of the network for one example.
struct Decision {
  compress::Groups groups;
  std::vector<size_t> units;
};

// The units of least worth, until the target is met; by kTaylor for what they save, in rounds.
// Fails as worth_of() and compress::choose() do, and with kUnsupported where the network has
// nothing to remove.
Result<Decision> decide(Device& device, const NetworkForBatch& network, const Dataset& examples,
                        const ShrinkOptions& options);

// What the decision leaves of each group that loses something, and what it could not touch. Pure.
// REQUIRES: the decision's groups are those of the graph.
std::vector<GroupLeft> removed_by(const Graph& graph, const Decision& decision);
std::vector<RefusedAxis> refused_by(const Graph& graph, const Decision& decision);

}  // namespace shoal::shrink
