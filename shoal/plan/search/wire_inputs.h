// Inputs that travel in fewer bytes: the graph of such a plan has them in f16 or i8 where the one
// that was asked about has f32 (WireOptions::inputs). Who runs it rounds what it was given.
#pragma once

#include <cstddef>

#include "shoal/base/status.h"
#include "shoal/model/graph/graph.h"

namespace shoal::plan {

// An input of the plan's graph as it travels. What has its type already stays as it is, and so does
// what nobody knows how to round: a run will say that its type is wrong. REQUIRES: the graph has
// such an input.
Tensor as_sent(const Graph& graph, size_t input, const Tensor& given);

// The graph with f32 inputs that it rounds itself: what a plan answers, in one piece.
Result<Graph> rounding_inputs(const Graph& graph);

}  // namespace shoal::plan
