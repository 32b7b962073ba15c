// The numbers ONNX gives to element types. Attributes such as Cast's `to` hold them.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "shoal/base/status.h"
#include "shoal/model/tensor/dtype.h"

namespace shoal::ops {

// In the order of DType (TensorProto.DataType).
inline constexpr std::array<int64_t, kDTypeCount> kOnnxNumbers = {1, 11, 10, 16, 3,  2, 5,
                                                                  4, 6,  12, 7,  13, 9};

constexpr int64_t onnx_number_of(DType dtype) { return kOnnxNumbers[static_cast<size_t>(dtype)]; }

constexpr std::optional<DType> dtype_of_onnx(int64_t number) {
  for (size_t i = 0; i < kDTypeCount; ++i) {
    if (kOnnxNumbers[i] == number) return static_cast<DType>(i);
  }
  return std::nullopt;
}

// For `infer`: refuses strings, complex numbers and what ONNX does not know.
inline Result<DType> require_dtype(int64_t number) {
  if (auto dtype = dtype_of_onnx(number)) return *dtype;
  return Status(Code::kUnsupported,
                "element type " + std::to_string(number) + " (ONNX's number) is not supported");
}

}  // namespace shoal::ops
