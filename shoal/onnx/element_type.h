// TensorProto.DataType, the numbers ONNX gives the element types, and our DType.
#pragma once

#include <cstdint>

#include "shoal/tensor/dtype.h"

namespace shoal::onnx {

// Refuses by name what the engine does not compute in: string, complex, 8- and 4-bit floats.
Result<DType> dtype_of(int64_t onnx_type);
int64_t onnx_type_of(DType dtype);

}  // namespace shoal::onnx
