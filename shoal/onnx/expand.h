// Our own operators written as what they mean in ONNX.
#pragma once

#include <span>
#include <string>

#include "shoal/base/status.h"
#include "shoal/graph/graph.h"

namespace shoal::onnx {

// The same graph with ONNX operators only. Every output is a value of its own that a node
// computes, as readers of ONNX expect: what is an input, a constant or another output too goes
// through an Identity. Values keep their names, outputs have those of `output_names` where given,
// except that nothing may be called like an input.
Result<Graph> expand_own_operators(const Graph& graph,
                                   std::span<const std::string> output_names = {});

}  // namespace shoal::onnx
