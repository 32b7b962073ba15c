#include "shoal/onnx/element_type.h"

#include <array>
#include <optional>
#include <string>

namespace shoal::onnx {
namespace {

struct Entry {
  std::string_view name;
  std::optional<DType> dtype;
};

// Index = number in TensorProto.DataType.
constexpr std::array<Entry, 24> kTable = {{{"undefined", {}},
                                           {"float", DType::kF32},
                                           {"uint8", DType::kU8},
                                           {"int8", DType::kI8},
                                           {"uint16", DType::kU16},
                                           {"int16", DType::kI16},
                                           {"int32", DType::kI32},
                                           {"int64", DType::kI64},
                                           {"string", {}},
                                           {"bool", DType::kBool},
                                           {"float16", DType::kF16},
                                           {"double", DType::kF64},
                                           {"uint32", DType::kU32},
                                           {"uint64", DType::kU64},
                                           {"complex64", {}},
                                           {"complex128", {}},
                                           {"bfloat16", DType::kBF16},
                                           {"float8e4m3fn", {}},
                                           {"float8e4m3fnuz", {}},
                                           {"float8e5m2", {}},
                                           {"float8e5m2fnuz", {}},
                                           {"uint4", {}},
                                           {"int4", {}},
                                           {"float4e2m1", {}}}};

}  // namespace

Result<DType> dtype_of(int64_t onnx_type) {
  if (onnx_type < 1 || onnx_type >= static_cast<int64_t>(kTable.size())) {
    return Status(Code::kCorrupt, "element type " + std::to_string(onnx_type) + " does not exist");
  }
  const Entry& entry = kTable[static_cast<size_t>(onnx_type)];
  if (entry.dtype) return *entry.dtype;
  return Status(Code::kUnsupported,
                "elements of type " + std::string(entry.name) + " are not supported");
}

int64_t onnx_type_of(DType dtype) {
  for (size_t i = 0; i < kTable.size(); ++i) {
    if (kTable[i].dtype == dtype) return static_cast<int64_t>(i);
  }
  SHOAL_CHECK(false);
  return 0;
}

}  // namespace shoal::onnx
