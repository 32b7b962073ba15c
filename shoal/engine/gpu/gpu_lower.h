// A graph as GPUs compute it, which has floats only, and which nodes they take.
#pragma once

#include "shoal/engine/gpu/work.h"

namespace shoal::gpu {

// Equal of integers, as 0 and 1 in f32: the gradient of a loss asks so which class is the target.
// An operator that only GPUs have.
extern const Operator equal_as_float;

// Cast(Equal) of integers as one node, and chains of element-wise nodes.
Result<Graph> lowered(const Graph& graph);

// Whether the node, which is one of `graph`'s, has work when the graph is lowered.
bool supports(const Graph& graph, const Node& node, const Capabilities& device);

}  // namespace shoal::gpu
