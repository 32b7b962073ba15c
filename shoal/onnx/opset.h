// What our operators can do beyond opset 17, and a file of opset 17 therefore cannot say.
#pragma once

#include <cstdint>

#include "shoal/base/status.h"
#include "shoal/graph/graph.h"

namespace shoal::onnx {

inline constexpr int64_t kOpset = 17;

// The node's attributes as a file of opset 17 may hold them: without newer ones that say what is
// the case anyway. Refuses those that change the meaning, and operators that are newer.
Result<Attributes> opset_17_attributes(const Node& node);

}  // namespace shoal::onnx
