// Store: tensors by the hash of their bytes. A weight that several plans or models share is there
// once, and travels once.
#pragma once

#include <map>
#include <mutex>
#include <vector>

#include "shoal/cluster/wire.h"
#include "shoal/net/frame.h"

namespace shoal::cluster {

class Store {
 public:
  explicit Store(size_t quota_bytes) : quota_(quota_bytes) {}

  bool has(const Hash& hash) const;
  // Refuses bytes that are not what their name says, and what is more than the quota even after
  // all that nobody uses was dropped.
  Status put(const Hash& hash, net::Buffer bytes);
  size_t bytes() const;  // that it holds
  // Undefined if it is not there or has another size.
  Tensor find(const Hash& hash, const TensorType& type) const;

 private:
  void drop_unused();

  const size_t quota_;
  mutable std::mutex mutex_;
  size_t used_ = 0;
  std::map<Hash, net::Buffer> blobs_;
};

}  // namespace shoal::cluster
