// Nesting: the units of each group (groups.h) in the order of their worth, so that every narrower
// network is made of the first units of a wider one and shares its weights (NestDNN, Fang et al.
// 2018; slimmable networks, Yu et al. 2019).
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

// How many units of each group there are, by group_name(). A group that is not named keeps all.
using Widths = std::map<std::string, size_t>;

// The name of a group, whatever the order of values in the graph: "weights:axis:index" of the first
// slice of constants that it has, by the names of constants. Empty if it has none.
std::string group_name(const Graph& graph, const Groups& groups, const Group& group);

// The graph with the units of each group in another order, the one of the highest worth first; of
// equals the one that was first. Names and types stay, constants are permuted. Its answers are the
// same but for the order of sums. Operators whose settings tell units of a group apart are not
// looked for: compare the answers where a network comes from outside. REQUIRES: `groups` are those
// of the graph, and `worth` has one number per unit.
Result<Graph> nested(const Graph& graph, const Groups& groups, std::span<const double> worth);

// The units to remove so that the first ones of each group are left. kInvalidArgument for a width
// of 0 or above the size of the group, and for a name that no group has. REQUIRES: as above.
Result<std::vector<size_t>> units_beyond(const Graph& graph, const Groups& groups,
                                         const Widths& widths);

// The widths that are left without these units. Groups that lose none are not named. kUnsupported
// for one that loses some and has no name. REQUIRES: as above; no unit occurs twice.
Result<Widths> widths_without(const Graph& graph, const Groups& groups,
                              std::span<const size_t> units);

}  // namespace shoal::compress

#pragma GCC visibility pop
