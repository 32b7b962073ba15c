// The types of attributes. In ONNX the name implies the type, whatever the operator, with few
// exceptions.
#pragma once

#include <string_view>

#include "shoal/model/onnx/format/proto.h"

namespace shoal::onnx {

// Whether an attribute of this operator may have this type. Operators ignore an attribute of a
// wrong type, so the importer has to refuse it before it reaches them. Names that no supported
// operator has may be of any type. Any thread may call it.
bool is_kind_of(std::string_view op, std::string_view attribute, AttributeKind kind);

}  // namespace shoal::onnx
