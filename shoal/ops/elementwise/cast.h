// How a Cast rounds to bfloat16. ONNX does not say (its vectors cut off); the attribute is spelt as
// opset 24 does it, for a smaller type.
#pragma once

#include "shoal/graph/graph.h"

namespace shoal::ops {

inline constexpr const char* kRoundMode = "round_mode";
inline constexpr const char* kNearest = "nearest";  // ties to even

inline bool rounds_to_nearest(const Node& node) { return node.text(kRoundMode, "") == kNearest; }

}  // namespace shoal::ops
