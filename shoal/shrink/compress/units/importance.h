// Importance: the worth of a network's units (groups.h), and which to remove. Pure functions, safe
// for concurrent use.
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

// The worth of every unit, in the order of Groups::units: the sum of its squared weights over the
// mean of its group, so that units of different layers compare at any scale. Measured inputs, such
// as the mean of a norm, do not count.
std::vector<double> magnitudes(const Graph& graph, const Groups& groups);

// Random worth, for controls. The same seed gives the same numbers.
std::vector<double> random_worth(const Groups& groups, uint64_t seed);

// The first-order change of the loss when a unit's slices become zero: over the weights that it has
// a slice of, sum (sum gradient * weight)^2 (Molchanov et al. 2019). `gradients` are those of one
// batch, by weight name; absent ones do not count. Average over batches. REQUIRES: gradients have
// the types of their weights.
std::vector<double> taylor(const Graph& graph, const Groups& groups,
                           const std::map<std::string, Tensor>& gradients);

// The worth of every unit per saving, once the units `gone` are removed: times the size of its
// group over what is left of it, so that no layer is emptied, and divided by its savings in the
// costs that miss the target. Removed units come first. Fails as size_without() does. REQUIRES: as
// choose().
Result<std::vector<double>> per_saving(const Graph& graph, const Groups& groups,
                                       std::span<const double> worth, const Target& target,
                                       std::span<const size_t> gone = {});

// The units to remove, least worth first, no more than the target demands. One unit of each group
// stays. Fails as check(target) does; kUnsupported, naming the smallest share, if the target cannot
// be met. REQUIRES: `groups` are those of the graph, and `worth` has one number per unit.
Result<std::vector<size_t>> choose(const Graph& graph, const Groups& groups,
                                   std::span<const double> worth, const Target& target);

}  // namespace shoal::compress

#pragma GCC visibility pop
