// Which type an attribute has. In ONNX the name tells, whatever the operator, with few exceptions.
#pragma once

#include <string_view>

#include "shoal/onnx/proto.h"

namespace shoal::onnx {

// Operators read an attribute of a wrong type as if it were not there, so it must not get to
// them. Names that no supported operator has may be of any type.
bool is_kind_of(std::string_view op, std::string_view attribute, AttributeKind kind);

}  // namespace shoal::onnx
