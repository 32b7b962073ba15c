// Element types as a file gives them, refused by name where the engine has none.
#pragma once

#include <cstdint>

#include "shoal/base/status.h"
#include "shoal/tensor/dtype.h"

namespace shoal::onnx {

// `number` is of TensorProto.DataType.
Result<DType> element_type(int64_t number);

}  // namespace shoal::onnx
