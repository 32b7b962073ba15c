// Values that hold the same elements, and so share a scale: bytes move between them unchanged.
#pragma once

#include "shoal/model/graph/graph.h"
#include "shoal/shrink/compress/quantization/calibration.h"

namespace shoal::compress {

// Whether every element of the only output is one of input 0, chosen by its place or as the
// largest.
bool keeps_elements(const Graph& graph, const Node& node);

// The ranges, where those of a node that keeps elements are one, and those of a Concat and of its
// parts. A part that something else reads keeps its own: it may need a finer scale there. Pure.
Ranges shared_ranges(const Graph& graph, Ranges ranges);

}  // namespace shoal::compress
