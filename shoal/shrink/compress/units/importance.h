// Importance: what the units of a network (groups.h) are worth, and which to give up. Pure
// functions; any threads may call them at once.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/model/graph/graph.h"
#include "shoal/shrink/compress/units/groups.h"
#include "shoal/shrink/compress/units/target.h"

#pragma GCC visibility push(default)

namespace shoal::compress {

// The worth of every unit, in the order of Groups::units: the sum of the squares of its weights,
// divided by the mean of its group. So units of different layers can be compared, whatever the
// scale of their weights. Measured inputs, such as the mean of a norm, do not count.
std::vector<double> magnitudes(const Graph& graph, const Groups& groups);

// Random numbers in place of worth, for controls. The same seed gives the same numbers.
std::vector<double> random_worth(const Groups& groups, uint64_t seed);

// The first-order change of the loss when slices of a unit become zero, squared and added up over
// the weights that the unit has a slice of: sum (sum gradient * weight)^2 (Molchanov et al. 2019).
// `gradients` are those of one batch, by the names of the weights; what has none does not count.
// The mean over batches is a worth. REQUIRES: gradients have the types of their weights.
std::vector<double> taylor(const Graph& graph, const Groups& groups,
                           const std::map<std::string, Tensor>& gradients);

// The worth of every unit for what it saves, once the units `gone` are removed: times the
// size of its group by what is left of it, so that no layer is emptied because each of its units is
// worth little, and divided by what removing it saves of the costs that do not meet the target yet.
// Units that are gone come before all others. Fails as size_without() does. REQUIRES: as choose().
Result<std::vector<double>> per_saving(const Graph& graph, const Groups& groups,
                                       std::span<const double> worth, const Target& target,
                                       std::span<const size_t> gone = {});

// The units to remove, in the order of their worth, least first, and no more than the target
// demands. One unit of each group stays. Fails as check(target) does, and with kUnsupported, naming
// the smallest share, if it cannot be met. REQUIRES: `groups` are those of the graph, and `worth`
// has one number per unit.
Result<std::vector<size_t>> choose(const Graph& graph, const Groups& groups,
                                   std::span<const double> worth, const Target& target);

}  // namespace shoal::compress

#pragma GCC visibility pop
