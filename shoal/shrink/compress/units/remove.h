// Removal of units (groups.h): Graph -> Graph. Weights lose slices, and attributes that count
// indices (the bounds of a Slice, the groups of a Conv) are recomputed.
//
// Law: remove() and masked() give the same answers. A unit need not be zero where it is read,
// because of biases, norms or a Sigmoid, so masked() cuts it off at its readers.
#pragma once

#include <cstdint>
#include <span>

#include "shoal/base/status.h"
#include "shoal/model/graph/graph.h"
#include "shoal/shrink/compress/units/groups.h"
#include "shoal/shrink/compress/units/target.h"

#pragma GCC visibility push(default)

namespace shoal::compress {

// The graph without these units of `groups`, by number. kInvalidArgument for a number that is
// invalid or repeated, or if a group would become empty; kUnsupported, naming a node, if an
// operator cannot lose these units together. REQUIRES: `groups` are those of the graph, here and
// below.
Result<Graph> remove(const Graph& graph, const Groups& groups, std::span<const size_t> units);

// The graph with unchanged shapes, in which products ignore the units. For tests: it defines
// remove(). Fails as remove() does for wrong numbers.
Result<Graph> masked(const Graph& graph, const Groups& groups, std::span<const size_t> units);

// The costs of remove(graph, groups, units), without building it. Fails as remove() does.
Result<Size> size_without(const Graph& graph, const Groups& groups, std::span<const size_t> units);

// Its multiply-accumulates alone.
Result<int64_t> macs_without(const Graph& graph, const Groups& groups,
                             std::span<const size_t> units);

}  // namespace shoal::compress

#pragma GCC visibility pop
