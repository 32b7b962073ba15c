// Nesting: units of each group (groups.h) sorted by worth, so that every narrower network is the
// first units of a wider one and shares its weights (NestDNN, Fang et al. 2018; slimmable networks,
// Yu et al. 2019).
//
//   SHOAL_ASSIGN(const Groups groups, find_groups(graph));
//   SHOAL_ASSIGN(const Graph ordered, nested(graph, groups, magnitudes(graph, groups)));
//   SHOAL_ASSIGN(const Groups same, find_groups(ordered));
//   SHOAL_ASSIGN(const auto gone, units_beyond(ordered, same, {{"conv1.weight:0:0", 4}}));
//   SHOAL_ASSIGN(const Graph narrow, remove(ordered, same, gone));
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/model/graph/graph.h"
#include "shoal/shrink/compress/units/groups.h"

#pragma GCC visibility push(default)

namespace shoal::compress {

// The number of units of each group, by group_name(). Groups not named keep all.
using Widths = std::map<std::string, size_t>;

// A name of a group that does not depend on the order of values: "weights:axis:index" of its first
// slice, by constant names. Empty if it has none.
std::string group_name(const Graph& graph, const Groups& groups, const Group& group);

// The graph with the units of each group sorted by worth, highest first, stably. Names and types
// stay, constants are permuted; answers change only by the order of sums. Operators whose
// attributes distinguish units of a group are not detected: compare the answers of untrusted
// networks. REQUIRES: `groups` are those of the graph, and `worth` has one number per unit.
Result<Graph> nested(const Graph& graph, const Groups& groups, std::span<const double> worth);

// The units to remove to keep the first n of each group. kInvalidArgument for a width of 0 or above
// the size of the group, and for an unknown group. REQUIRES: as above.
Result<std::vector<size_t>> units_beyond(const Graph& graph, const Groups& groups,
                                         const Widths& widths);

// The widths after removal of these units; only groups that lose some. kUnsupported if such a group
// has no name. REQUIRES: as above; no unit occurs twice.
Result<Widths> widths_without(const Graph& graph, const Groups& groups,
                              std::span<const size_t> units);

}  // namespace shoal::compress

#pragma GCC visibility pop
