// Element types as a file gives them. Types that the engine does not have are refused by name.
#pragma once

#include <cstdint>

#include "shoal/base/status.h"
#include "shoal/model/tensor/dtype.h"

namespace shoal::onnx {

// `number` is one of TensorProto.DataType. For a narrow one (shoal/model/ops/narrow_type.h) it is
// the type that holds it. kUnsupported for a type that exists, kCorrupt for other numbers.
Result<DType> element_type(int64_t number);

}  // namespace shoal::onnx
