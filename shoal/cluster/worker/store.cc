// Content-addressed weights. The hash of a weight is computed as its chunks arrive. What was read
// from disk is checked before it is used, so a weight is exactly what the coordinator named. Memory
// is bounded by the quota: when room is needed, weights that no plan uses are dropped first, then
// those that are not whole.
//
// With a cache, a weight grows in a file and is then mapped. Otherwise, or where the file cannot be
// written, it grows in memory that is allocated for all of it.
#include "shoal/cluster/worker/store.h"

#include <algorithm>

namespace shoal::cluster {

bool Store::has(const Hash& hash) {
  const std::lock_guard lock(mutex_);
  return has_locked(hash);
}

bool Store::has_locked(const Hash& hash) {
  if (blobs_.contains(hash)) return true;
  if (!cache_) return false;
  // Mapped now, so that it stays although the cache may remove the file to make room for others.
  const std::shared_ptr<const MappedFile> file = cache_->find(hash);
  return file != nullptr && add(hash, {file, file->bytes()}).ok();
}

uint64_t Store::partial_bytes(const Hash& hash) const {
  const std::lock_guard lock(mutex_);
  const auto partial = partials_.find(hash);
  if (partial != partials_.end()) return partial->second.have;
  return cache_ ? cache_->partial_bytes(hash) : 0;
}

Result<uint64_t> Store::append(const Hash& hash, uint64_t total, uint64_t offset,
                               std::span<const std::byte> chunk) {
  if (total == 0) return Status(Code::kCorrupt, "a weight without bytes");
  const std::lock_guard lock(mutex_);
  if (has_locked(hash)) return total;
  SHOAL_ASSIGN(const auto entry, partial(hash, total));
  Partial& partial = entry->second;
  partial.last_use = ++uses_;
  if (offset != partial.have) return partial.have;
  if (chunk.size() > total - partial.have) {
    return Status(Code::kCorrupt, "a chunk reaches beyond its weight");
  }
  SHOAL_TRY(write(hash, partial, chunk));
  return partial.have < total ? Result<uint64_t>(partial.have) : finish(entry);
}

// The weight that is being received, or about to be.
Result<Store::Partials::iterator> Store::partial(const Hash& hash, uint64_t total) {
  const auto found = partials_.find(hash);
  if (found != partials_.end() && found->second.total == total) return found;
  // One of two coordinators is wrong about the size. The later one may be right.
  if (found != partials_.end()) drop(found);
  const bool on_disk = cache_ && total <= cache_->quota();
  Result<Partial> made = on_disk ? begin_on_disk(hash, total) : begin_in_memory(total);
  if (!made.ok()) return made.status();
  return partials_.emplace(hash, *std::move(made)).first;
}

Result<Store::Partial> Store::begin_on_disk(const Hash& hash, uint64_t total) {
  // Fails now rather than when all of it has been sent.
  SHOAL_TRY(make_room(total));
  if (cache_->partial_bytes(hash) >= total) cache_->remove_partial(hash);
  Partial partial{.total = total, .have = cache_->partial_bytes(hash)};
  if (partial.have == 0) partial.hash.emplace();
  return partial;
}

Result<Store::Partial> Store::begin_in_memory(uint64_t total) {
  SHOAL_TRY(make_room(total));
  SHOAL_ASSIGN(net::Buffer memory, net::Buffer::allocate(total));
  used_ += total;
  return Partial{.total = total, .hash = RunningHash(), .memory = std::move(memory)};
}

Status Store::write(const Hash& hash, Partial& partial, std::span<const std::byte> chunk) {
  const bool in_memory = !partial.memory.bytes.empty();
  if (in_memory) {
    std::ranges::copy(chunk, partial.memory.bytes.begin() + static_cast<ptrdiff_t>(partial.have));
  } else if (!cache_->append(hash, chunk).ok()) {
    // A full disk. It begins anew, in memory.
    SHOAL_ASSIGN(Partial again, begin_in_memory(partial.total));
    again.last_use = partial.last_use;
    partial = std::move(again);
    return {};
  }
  if (partial.hash) partial.hash->add(chunk);
  partial.have += chunk.size();
  return {};
}

Result<uint64_t> Store::finish(Partials::iterator entry) {
  const Hash hash = entry->first;
  Partial partial = std::move(entry->second);
  const uint64_t total = partial.total;
  const bool in_memory = !partial.memory.bytes.empty();
  if (in_memory) used_ -= total;  // counted again by add()
  partials_.erase(entry);
  const bool verified = partial.hash.has_value();
  if (verified && partial.hash->finish() != hash) {
    if (cache_) cache_->remove_partial(hash);
    return uint64_t{0};
  }
  if (in_memory) {
    SHOAL_TRY(add(hash, {partial.memory.keep, partial.memory.bytes, verified}));
    return total;
  }
  cache_->finish(hash);
  const std::shared_ptr<const MappedFile> file = cache_->find(hash);
  if (file == nullptr || file->bytes().size() != total) {
    cache_->remove(hash);
    return uint64_t{0};
  }
  SHOAL_TRY(add(hash, {file, file->bytes(), verified}));
  return total;
}

bool Store::is_verified(const Hash& hash) const {
  const std::lock_guard lock(mutex_);
  const auto blob = blobs_.find(hash);
  return blob != blobs_.end() && blob->second.verified;
}

Status Store::verify(const Hash& hash) {
  Blob blob;
  {
    const std::lock_guard lock(mutex_);
    if (!has_locked(hash)) return Status(Code::kNotFound, "a weight is not here");
    blob = blobs_.at(hash);
  }
  if (blob.verified) return {};
  // Outside of the lock: hashing takes long, and chunks of other weights arrive meanwhile.
  const bool right = hash_of(blob.bytes) == hash;
  const std::lock_guard lock(mutex_);
  const auto found = blobs_.find(hash);
  const bool same = found != blobs_.end() && found->second.bytes.data() == blob.bytes.data();
  if (right && same) found->second.verified = true;
  if (right) return same ? Status() : Status(Code::kNotFound, "a weight was dropped");
  if (same) {
    used_ -= blob.bytes.size();
    blobs_.erase(found);
    cache_->remove(hash);
  }
  return Status(Code::kNotFound, "a weight on disk is not what its name says");
}

Status Store::add(const Hash& hash, Blob blob) {
  SHOAL_TRY(make_room(blob.bytes.size()));
  used_ += blob.bytes.size();
  blobs_.emplace(hash, std::move(blob));
  return {};
}

size_t Store::bytes() const {
  const std::lock_guard lock(mutex_);
  return used_;
}

Status Store::make_room(size_t bytes) {
  const auto fits = [&] { return bytes <= quota_ && used_ <= quota_ - bytes; };
  if (!fits()) {
    std::erase_if(blobs_, [&](const auto& entry) {
      // Tensors that view the bytes hold the other references; only find() makes new ones, under
      // the lock.
      if (entry.second.keep.use_count() > 1) return false;
      used_ -= entry.second.bytes.size();
      return true;
    });
  }
  while (!fits() && drop_oldest_partial()) {
  }
  return fits() ? Status() : Status(Code::kExhausted, "no room for more weights");
}

// Of those in memory, the one that has not grown for longest. False if there is none.
bool Store::drop_oldest_partial() {
  auto oldest = partials_.end();
  for (auto it = partials_.begin(); it != partials_.end(); ++it) {
    if (it->second.memory.bytes.empty()) continue;
    if (oldest == partials_.end() || it->second.last_use < oldest->second.last_use) oldest = it;
  }
  if (oldest == partials_.end()) return false;
  drop(oldest);
  return true;
}

void Store::drop(Partials::iterator partial) {
  used_ -= partial->second.memory.bytes.size();
  if (cache_) cache_->remove_partial(partial->first);
  partials_.erase(partial);
}

Tensor Store::find(const Hash& hash, const TensorType& type) const {
  const std::lock_guard lock(mutex_);
  const auto it = blobs_.find(hash);
  if (it == blobs_.end() || !it->second.verified) return {};
  // The type comes from a message: a view must not reach beyond the bytes.
  if (it->second.bytes.size() != type.bytes()) return {};
  return Tensor::view(type, it->second.bytes.data(), it->second.keep);
}

}  // namespace shoal::cluster
