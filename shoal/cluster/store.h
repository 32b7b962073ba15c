// Store: tensors by the hash of their bytes. A weight that several plans or models share is there
// once, and travels once.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>

#include "shoal/cluster/weight_cache.h"
#include "shoal/cluster/wire.h"
#include "shoal/net/frame.h"

namespace shoal::cluster {

class Store {
 public:
  // With a cache, what is put here is found again after a restart.
  explicit Store(size_t quota_bytes, std::optional<WeightCache> cache = std::nullopt)
      : quota_(quota_bytes), cache_(std::move(cache)) {}

  bool has(const Hash& hash);
  // Refuses bytes that are not what their name says, and what is more than the quota even after
  // all that nobody uses was dropped.
  Status put(const Hash& hash, const net::Buffer& bytes);
  size_t bytes() const;  // that it holds, besides those on disk only
  // Undefined if it is not there or has another size.
  Tensor find(const Hash& hash, const TensorType& type) const;

 private:
  struct Blob {
    std::shared_ptr<const void> keep;
    std::span<const std::byte> bytes;
  };

  Status add(const Hash& hash, Blob blob);
  void drop_unused();

  const size_t quota_;
  mutable std::mutex mutex_;
  size_t used_ = 0;
  std::map<Hash, Blob> blobs_;
  std::optional<WeightCache> cache_;
};

}  // namespace shoal::cluster
