// SpareBuffers: buffers that no value has any more, for the next one of the same size. Making one
// takes a driver longer than many a kernel runs, and steps of training make the same ones each
// time.
#pragma once

#include <algorithm>
#include <map>
#include <mutex>
#include <optional>
#include <utility>

namespace shoal::gpu {

// Thread-safe. Buffers are empty or have a size in bytes.
template <class Buffer>
class SpareBuffers {
 public:
  // A share of the device's memory is kept, and at least a little.
  void limit(int64_t memory_bytes) {
    constexpr size_t kLeast = size_t{64} << 20, kShare = 16;
    most_ = std::max(kLeast, static_cast<size_t>(std::max<int64_t>(memory_bytes, 0)) / kShare);
  }

  std::optional<Buffer> take(size_t bytes) {
    const std::lock_guard lock(mutex_);
    const auto found = spare_.find(bytes);
    if (found == spare_.end()) return std::nullopt;
    Buffer buffer = std::move(found->second);
    spare_.erase(found);
    bytes_ -= bytes;
    return buffer;
  }

  void keep(size_t bytes, Buffer buffer) {
    const std::lock_guard lock(mutex_);
    if (bytes_ + bytes > most_) return;
    bytes_ += bytes;
    spare_.emplace(bytes, std::move(buffer));
  }

  void clear() {
    const std::lock_guard lock(mutex_);
    spare_.clear();
    bytes_ = 0;
  }

 private:
  std::mutex mutex_;
  std::multimap<size_t, Buffer> spare_;  // by bytes
  size_t bytes_ = 0, most_ = 0;
};

}  // namespace shoal::gpu
