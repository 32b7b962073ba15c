#include "shoal/serve/protocol/datatype.h"

#include <algorithm>
#include <array>

namespace shoal::serve {
namespace {

// In the order of DType.
constexpr std::array<std::string_view, kDTypeCount> kNames = {
    "FP32",   "FP64",  "FP16",   "BF16",  "INT8",   "UINT8", "INT16",
    "UINT16", "INT32", "UINT32", "INT64", "UINT64", "BOOL"};

}  // namespace

std::string_view datatype_of(DType dtype) { return kNames[static_cast<size_t>(dtype)]; }

std::optional<DType> find_datatype(std::string_view name) {
  const auto it = std::ranges::find(kNames, name);
  if (it == kNames.end()) return std::nullopt;
  return static_cast<DType>(it - kNames.begin());
}

}  // namespace shoal::serve
