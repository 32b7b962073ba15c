// Memory that processes share by opening the same file.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
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

// Until the word is no longer `seen` or the time is over, across processes. May return early.
void wait_shared(const std::atomic<uint32_t>& word, uint32_t seen,
                 std::chrono::steady_clock::time_point until);
void wake_shared(const std::atomic<uint32_t>& word);

}  // namespace shoal
