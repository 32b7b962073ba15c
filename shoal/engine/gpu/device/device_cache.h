// What an open device keeps of the programs and buffers that it has made, for the next use.
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
// depends on; it has a head, the hash of the program, and the program. Whatever does not fit is
// compiled again: a miss is never an error.

// The file of a program that depends on these texts: device, driver, options, source.
std::filesystem::path program_file(const std::filesystem::path& folder,
                                   std::span<const std::string_view> key,
                                   std::string_view extension);

// The program that was kept; empty if there is none, or the file is not whole.
std::vector<std::byte> load_program(const std::filesystem::path& file);

// Where that fails, the next start compiles.
void keep_program(const std::filesystem::path& file, std::span<const std::byte> program);

// KnownKernels: kernels that were compiled, by their texts. The graphs of one training or
// compression have most kernels in common: the network with other weights, with masks, or without a
// few channels. Each kernel is compiled once as long as the device is open.

// KERNEL is what an API has of one; one that was made by default is none. Thread-safe.
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

  // Executables keep what they use. If there are too many, all are forgotten.
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

// SpareBuffers: buffers that no value has any more, for the next one of the same size. Making one
// takes a driver longer than many a kernel runs, and steps of training make the same ones each
// time.

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
