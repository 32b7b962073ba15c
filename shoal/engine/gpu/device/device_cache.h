// Caches of an open device: programs, kernels and spare buffers.
#pragma once

#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace shoal::gpu {

// Compiled programs, kept for the next start. A file is named by the hash of what the program
// depends on; it has a head, the hash of the program, and the program. Anything that does not match
// is compiled again: a miss is never an error.

// The file of a program that depends on these texts: device, driver, options, source.
std::filesystem::path program_file(const std::filesystem::path& folder,
                                   std::span<const std::string_view> key,
                                   std::string_view extension);

// The kept program; empty if there is none, or the file is incomplete.
std::vector<std::byte> load_program(const std::filesystem::path& file);

// Errors are ignored: the next start compiles.
void keep_program(const std::filesystem::path& file, std::span<const std::byte> program);

// KnownKernels: compiled kernels by their sources. The graphs of one training or compression share
// most kernels, so each is compiled once as long as the device is open.

// KERNEL is the API's handle; a default-constructed one is none. Thread-safe.
template <class Kernel>
class KnownKernels {
 public:
  // By text.
  std::vector<Kernel> find(std::span<const std::string> texts) const {
    const std::scoped_lock lock(mutex_);
    std::vector<Kernel> kernels(texts.size());
    for (size_t i = 0; i < texts.size(); ++i) {
      const auto known = kernels_.find(texts[i]);
      if (known != kernels_.end()) kernels[i] = known->second;
    }
    return kernels;
  }

  // Executables keep what they use. If there are too many kernels, all are dropped.
  void add(const std::string& text, Kernel kernel) {
    constexpr size_t kMost = 4096;
    const std::scoped_lock lock(mutex_);
    if (kernels_.size() >= kMost) kernels_.clear();
    kernels_.insert_or_assign(text, std::move(kernel));
  }

  void clear() {
    const std::scoped_lock lock(mutex_);
    kernels_.clear();
  }

 private:
  mutable std::mutex mutex_;
  std::unordered_map<std::string, Kernel> kernels_;
};

// SpareBuffers: unused buffers, for the next value of the same size. Drivers take longer to make
// one than many kernels run, and every step of training makes the same ones.

// Thread-safe. Buffers are empty or have a size in bytes.
template <class Buffer>
class SpareBuffers {
 public:
  // At most a share of the device's memory is kept, with a small minimum.
  void limit(int64_t memory_bytes) {
    constexpr size_t kLeast = size_t{64} << 20, kShare = 16;
    most_ = std::max(kLeast, static_cast<size_t>(std::max<int64_t>(memory_bytes, 0)) / kShare);
  }

  std::optional<Buffer> take(size_t bytes) {
    const std::lock_guard lock(mutex_);
    const auto match = spare_.find(bytes);
    if (match == spare_.end()) return std::nullopt;
    Buffer buffer = std::move(match->second);
    spare_.erase(match);
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
