// The attribute that says how a Cast rounds to bfloat16. ONNX does not specify it before opset 24,
// whose spelling for a smaller type this follows; its test vectors truncate.
#pragma once

#include "shoal/graph/graph.h"

namespace shoal::ops {

inline constexpr const char* kRoundMode = "round_mode";
inline constexpr const char* kNearest = "nearest";  // ties to even

inline bool rounds_to_nearest(const Node& node) { return node.text(kRoundMode, "") == kNearest; }

}  // namespace shoal::ops
