// The attribute that says how a Cast rounds to bfloat16. ONNX does not specify the rounding, and
// the test vectors of 1.12 truncate. The spelling is that of opset 24, which has the attribute for
// a smaller type.
#pragma once

#include "shoal/model/graph/graph.h"

namespace shoal::ops {

inline constexpr const char* kRoundMode = "round_mode";
inline constexpr const char* kNearest = "nearest";  // ties to even

inline bool rounds_to_nearest(const Node& node) { return node.text(kRoundMode, "") == kNearest; }

}  // namespace shoal::ops
