// Memory that processes share by opening the same file.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <type_traits>

#include "shoal/base/status.h"

namespace shoal {

// The first bytes of the file, which is made if it is not there, and then full of zeros.
Result<std::shared_ptr<void>> map_shared(const std::filesystem::path& file, size_t bytes);

// The same as an object, to which zeros must be a value: lock-free atomics.
template <class T>
Result<std::shared_ptr<T>> open_shared(const std::filesystem::path& file) {
  static_assert(std::is_trivially_destructible_v<T>);
  SHOAL_ASSIGN(std::shared_ptr<void> memory, map_shared(file, sizeof(T)));
  return std::static_pointer_cast<T>(std::move(memory));
}

}  // namespace shoal
