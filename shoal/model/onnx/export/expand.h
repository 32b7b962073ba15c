// What a graph needs to become a file of opset 17: our own operators become ONNX operators, and
// attributes become those of the opset.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "shoal/base/status.h"
#include "shoal/model/graph/graph.h"

namespace shoal::onnx {

// The same graph with ONNX operators only. Every output is a separate value that a node computes,
// as readers of ONNX expect: an output that is also an input, a constant or another output goes
// through an Identity. Values keep their names, outputs have those of `output_names` where given,
// except that no other value may have the name of an input.
Result<Graph> expand_own_operators(const Graph& graph,
                                   std::span<const std::string> output_names = {});

// The abilities of our operators beyond opset 17, which a file of opset 17 cannot express.
inline constexpr int64_t kOpset = 17;

// The node's attributes as a file of opset 17 may hold them, without newer ones that have their
// default value. Refuses attributes that change the meaning, and operators that are newer.
Result<Attributes> opset_17_attributes(const Node& node);

}  // namespace shoal::onnx
