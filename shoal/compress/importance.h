// Importance: what the units of a network (groups.h) are worth, and which to give up. Pure
// functions; any threads may call them at once.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/compress/groups.h"
#include "shoal/graph/graph.h"

#pragma GCC visibility push(default)

namespace shoal::compress {

// The worth of every unit, in the order of Groups::units: the sum of the squares of its weights,
// divided by the mean of its group. So units of different layers can be compared, whatever the
// scale of their weights. Measured inputs, such as the mean of a norm, do not count.
std::vector<double> magnitudes(const Graph& graph, const Groups& groups);

// Random numbers in place of worth, for controls. The same seed gives the same numbers.
std::vector<double> random_worth(const Groups& groups, uint64_t seed);

// How small a network is to become. Each is a share of what there was; 1 demands nothing.
struct Target {
  double units = 1;  // that stay
  double macs = 1;   // multiply-accumulates that stay
};

// The units to remove, in the order of their worth, least first, and no more than the target
// demands. One unit of each group stays. Fails with kInvalidArgument for a target outside (0, 1],
// and with kUnsupported, naming the smallest share, if it cannot be met. REQUIRES: `groups` are
// those of the graph, and `worth` has one number per unit.
Result<std::vector<size_t>> choose(const Graph& graph, const Groups& groups,
                                   std::span<const double> worth, const Target& target);

}  // namespace shoal::compress

#pragma GCC visibility pop
