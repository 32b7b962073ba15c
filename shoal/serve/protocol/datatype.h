// Names of element types in the Open Inference Protocol: "FP32" is DType::kF32.
#pragma once

#include <optional>
#include <string_view>

#include "shoal/model/tensor/dtype.h"

namespace shoal::serve {

std::string_view datatype_of(DType dtype);
// Nothing for another name, and for BYTES, of which no tensor is made.
std::optional<DType> find_datatype(std::string_view name);

}  // namespace shoal::serve
