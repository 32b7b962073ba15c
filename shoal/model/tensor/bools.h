// Elements of type bool that come from outside.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>

#include "shoal/model/tensor/dtype.h"

namespace shoal {

// Whether these bytes can be elements of a tensor. A C++ bool holds 0 or 1: reading any other byte
// as one is undefined behaviour. All bytes are elements of the other types. Any thread.
inline bool are_elements(DType dtype, std::span<const std::byte> bytes) {
  return dtype != DType::kBool ||
         std::ranges::all_of(bytes, [](std::byte b) { return b <= std::byte{1}; });
}

}  // namespace shoal
