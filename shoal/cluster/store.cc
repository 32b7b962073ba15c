// Content-addressed weights. The hash is checked on arrival and again when a file is read from
// disk, so a weight is exactly what the coordinator named. Memory is bounded by the quota: weights
// that no plan uses are dropped first, when room is needed.
#include "shoal/cluster/store.h"

namespace shoal::cluster {

bool Store::has(const Hash& hash) {
  const std::lock_guard lock(mutex_);
  if (blobs_.contains(hash)) return true;
  if (!cache_) return false;
  const std::shared_ptr<const MappedFile> file = cache_->find(hash);
  return file != nullptr && add(hash, {file, file->bytes()}).ok();
}

Status Store::put(const Hash& hash, const net::Buffer& bytes) {
  // Outside of the lock: hashing takes long, and other plans look up their weights meanwhile.
  if (hash_of(bytes.bytes) != hash) {
    return Status(Code::kCorrupt, "a weight is not what its hash says");
  }
  const std::lock_guard lock(mutex_);
  if (blobs_.contains(hash)) return {};
  SHOAL_TRY(add(hash, {bytes.keep, bytes.bytes}));
  if (cache_) cache_->keep(hash, bytes.bytes);
  return {};
}

Status Store::add(const Hash& hash, Blob blob) {
  const size_t size = blob.bytes.size();
  if (used_ + size > quota_) drop_unused();
  if (used_ + size > quota_) return Status(Code::kExhausted, "no room for more weights");
  used_ += size;
  blobs_.emplace(hash, std::move(blob));
  return {};
}

size_t Store::bytes() const {
  const std::lock_guard lock(mutex_);
  return used_;
}

void Store::drop_unused() {
  std::erase_if(blobs_, [&](const auto& entry) {
    // Tensors that view the bytes hold the other references; only find() makes new ones, under the
    // lock.
    if (entry.second.keep.use_count() > 1) return false;
    used_ -= entry.second.bytes.size();
    return true;
  });
}

Tensor Store::find(const Hash& hash, const TensorType& type) const {
  const std::lock_guard lock(mutex_);
  const auto it = blobs_.find(hash);
  // The type comes from a message: a view must not reach beyond the bytes.
  if (it == blobs_.end() || it->second.bytes.size() != type.bytes()) return {};
  return Tensor::view(type, it->second.bytes.data(), it->second.keep);
}

}  // namespace shoal::cluster
