// KnownKernels: kernels that were compiled, by their texts. The graphs of one training or
// compression have most kernels in common: the network with other weights, with masks, or without a
// few channels. Each kernel is compiled once as long as the device is open.
#pragma once

#include <mutex>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace shoal::gpu {

// KERNEL is what an API has of one; one that was made by default is none. Thread-safe.
template <class Kernel>
class KnownKernels {
 public:
  // By text.
  std::vector<Kernel> find(std::span<const std::string> texts) const {
    const std::scoped_lock lock(mutex_);
    std::vector<Kernel> found(texts.size());
    for (size_t i = 0; i < texts.size(); ++i) {
      const auto known = kernels_.find(texts[i]);
      if (known != kernels_.end()) found[i] = known->second;
    }
    return found;
  }

  // Executables keep what they use. Where there are too many, all are forgotten.
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

}  // namespace shoal::gpu
