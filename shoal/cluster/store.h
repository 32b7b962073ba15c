// Store: the weights of a worker, by the hash of their bytes. A weight that several plans or models
// share is sent and kept once.
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

// Thread-safe.
class Store {
 public:
  // With a cache on disk, weights are found again after a restart.
  explicit Store(size_t quota_bytes, std::optional<WeightCache> cache = std::nullopt)
      : quota_(quota_bytes), cache_(std::move(cache)) {}

  bool has(const Hash& hash);
  // Fails with
  //   kCorrupt    the bytes have another hash
  //   kExhausted  the quota is too small, even without the weights that no plan uses
  Status put(const Hash& hash, const net::Buffer& bytes);
  size_t bytes() const;  // in memory
  // Undefined if there is none, or it has another size.
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
