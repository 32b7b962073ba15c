// The abilities of our operators beyond opset 17, which a file of opset 17 cannot express.
#pragma once

#include <cstdint>

#include "shoal/base/status.h"
#include "shoal/model/graph/graph.h"

namespace shoal::onnx {

inline constexpr int64_t kOpset = 17;

// The node's attributes as a file of opset 17 may hold them, without newer ones that have their
// default value. Refuses attributes that change the meaning, and operators that are newer.
Result<Attributes> opset_17_attributes(const Node& node);

}  // namespace shoal::onnx
