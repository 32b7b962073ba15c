// Names of element types in the Open Inference Protocol: "FP32" is DType::kF32.
#pragma once

#include <optional>
#include <string_view>

#include "shoal/model/tensor/dtype.h"

namespace shoal::serve {

std::string_view datatype_of(DType dtype);
// Returns nullopt for an unknown name, and for BYTES, which Shoal has no tensors of.
std::optional<DType> find_datatype(std::string_view name);

}  // namespace shoal::serve
