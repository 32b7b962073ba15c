// Removal of units (groups.h): Graph -> Graph without them. Weights lose slices, and the settings
// that count indices (the bounds of a Slice, the groups of a Conv) are computed anew.
//
// Law: the answers of remove() and masked() are the same. A removed unit may not have been zero
// where it is read: a bias, a norm or a Sigmoid sees to that. After removal no node
// reads it, so masked() cuts it off there.
#pragma once

#include <cstdint>
#include <span>

#include "shoal/base/status.h"
#include "shoal/model/graph/graph.h"
#include "shoal/shrink/compress/units/groups.h"
#include "shoal/shrink/compress/units/target.h"

#pragma GCC visibility push(default)

namespace shoal::compress {

// The graph without units of `groups`, by their numbers. Without any it is the graph itself. Fails
// with kInvalidArgument for a number that is none or that stands there twice, or if nothing of a
// group would be left, and with kUnsupported, naming a node, if an operator cannot do without
// several units that it can do without one by one. REQUIRES: `groups` are those of the graph, and
// so it is below.
Result<Graph> remove(const Graph& graph, const Groups& groups, std::span<const size_t> units);

// The graph with its shapes as they are, where products no longer add up what the units give them.
// For tests: it shows what remove() means. Fails as remove() does for wrong numbers.
Result<Graph> masked(const Graph& graph, const Groups& groups, std::span<const size_t> units);

// The costs of remove(graph, groups, units), which is not made for that. Fails as remove() does.
Result<Size> size_without(const Graph& graph, const Groups& groups, std::span<const size_t> units);

// Its multiply-accumulates alone.
Result<int64_t> macs_without(const Graph& graph, const Groups& groups,
                             std::span<const size_t> units);

}  // namespace shoal::compress

#pragma GCC visibility pop
