// Element types of a file: see element_type.h.
#include "shoal/onnx/element_type.h"

#include <string>
#include <string_view>

#include "shoal/ops/onnx_dtype.h"

namespace shoal::onnx {
namespace {

// The types of TensorProto.DataType that no DType stands for.
std::string_view name_of_unsupported(int64_t number) {
  switch (number) {
    case 8:
      return "string";
    case 14:
      return "complex64";
    case 15:
      return "complex128";
    case 17:
      return "float8e4m3fn";
    case 18:
      return "float8e4m3fnuz";
    case 19:
      return "float8e5m2";
    case 20:
      return "float8e5m2fnuz";
    case 21:
      return "uint4";
    case 22:
      return "int4";
    case 23:
      return "float4e2m1";
    default:
      return {};
  }
}

}  // namespace

Result<DType> element_type(int64_t number) {
  if (const auto dtype = ops::dtype_of_onnx(number)) return *dtype;
  const std::string_view name = name_of_unsupported(number);
  if (name.empty()) {
    return Status(Code::kCorrupt, "element type " + std::to_string(number) + " does not exist");
  }
  return Status(Code::kUnsupported, "elements of type " + std::string(name) + " are not supported");
}

}  // namespace shoal::onnx
