// Element types of a file: see element_type.h.
#include "shoal/model/onnx/format/element_type.h"

#include <string>
#include <string_view>

#include "shoal/model/ops/narrow_type.h"
#include "shoal/model/ops/onnx_dtype.h"

namespace shoal::onnx {
namespace {

// The types of TensorProto.DataType that no DType stands for or holds.
std::string_view name_of_unsupported(int64_t number) {
  switch (number) {
    case 8:
      return "string";
    case 14:
      return "complex64";
    case 15:
      return "complex128";
    default:
      return {};
  }
}

}  // namespace

Result<DType> element_type(int64_t number) {
  if (const auto dtype = ops::dtype_of_onnx(number)) return *dtype;
  if (const ops::NarrowType* narrow = ops::find_narrow_type(number)) return narrow->held;
  const std::string_view name = name_of_unsupported(number);
  if (name.empty()) {
    return Status(Code::kCorrupt, "element type " + std::to_string(number) + " does not exist");
  }
  return Status(Code::kUnsupported, "elements of type " + std::string(name) + " are not supported");
}

}  // namespace shoal::onnx
