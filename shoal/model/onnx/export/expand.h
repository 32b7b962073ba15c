// Expands our own operators into ONNX operators.
#pragma once

#include <span>
#include <string>

#include "shoal/base/status.h"
#include "shoal/model/graph/graph.h"

namespace shoal::onnx {

// The same graph with ONNX operators only. Every output is a value of its own that a node computes,
// as readers of ONNX expect: an output that is also an input, a constant or another output goes
// through an Identity. Values keep their names, outputs have those of `output_names` where given,
// except that no other value may have the name of an input.
Result<Graph> expand_own_operators(const Graph& graph,
                                   std::span<const std::string> output_names = {});

}  // namespace shoal::onnx
