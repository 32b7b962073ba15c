// Content-addressed weights. The hash of a weight is computed as its chunks arrive. Bytes from disk
// are checked before use, so a weight is exactly what the coordinator named. Memory is bounded by
// the quota: weights that no plan uses are dropped first, then partial ones.
//
// With a cache, a weight grows in a file and is then mapped. Otherwise, or if the file cannot be
// written, it grows in memory that is allocated for all of it.
#include "shoal/cluster/worker/store.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>

#include "shoal/base/files/atomic_file.h"
#include "shoal/base/files/file.h"
#include "shoal/cluster/net/hex.h"
#include "shoal/cluster/net/text_file.h"

namespace shoal::cluster {

// A least-recently-used cache of files named by the hash of their bytes. The time of a file's last
// write stands for its last use, so the order outlives the process. A weight grows in HASH.partial
// and gets its name when it is whole. A reader of a file checks it against its name: a damaged
// one is removed and sent again.
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPartial = ".partial";

std::string file_name(const Hash& hash) { return net::to_hex(std::as_bytes(std::span(hash))); }
std::string partial_name(const Hash& hash) { return file_name(hash) + std::string(kPartial); }

// The folder may hold files of others, which the cache must neither count nor remove.
bool is_file_name(std::string_view name) {
  if (name.ends_with(kPartial)) name.remove_suffix(kPartial.size());
  const auto bytes = net::from_hex(std::string(name));
  return bytes && bytes->size() == kHashBytes;
}

// Opened for each chunk: no descriptor is left behind by a coordinator that goes away.
Status write_at(const fs::path& path, size_t offset, std::span<const std::byte> bytes) {
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (file < 0) return system_status(errno).at(path.string());
  int error = 0;
  while (!bytes.empty() && error == 0) {
    const ssize_t n = ::pwrite(file, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (n >= 0) {
      offset += static_cast<size_t>(n);
      bytes = bytes.subspan(static_cast<size_t>(n));
    } else if (errno != EINTR) {
      error = errno;
    }
  }
  if (::close(file) != 0 && error == 0) error = errno;
  return error == 0 ? Status() : system_status(error).at(path.string());
}

}  // namespace

Result<WeightCache> WeightCache::open(const fs::path& folder, size_t quota_bytes) {
  SHOAL_TRY(net::make_private_folder(folder));
  remove_abandoned(folder);
  WeightCache cache(folder, quota_bytes);
  cache.take_stock();
  cache.make_room(0);  // the quota may be smaller than last time
  return cache;
}

void WeightCache::take_stock() {
  const auto files = list_folder(folder_);
  if (!files.ok()) return;
  std::error_code error;
  for (const fs::path& file : *files) {
    const std::string name = file.filename().string();
    if (!is_file_name(name) || !fs::is_regular_file(file, error)) continue;
    const uintmax_t bytes = fs::file_size(file, error);
    if (error) continue;
    entries_[name] = {static_cast<size_t>(bytes), fs::last_write_time(file, error)};
    used_ += static_cast<size_t>(bytes);
  }
}

bool WeightCache::contains(const Hash& hash) const { return entries_.contains(file_name(hash)); }

std::shared_ptr<const MappedFile> WeightCache::find(const Hash& hash) {
  const auto entry = entries_.find(file_name(hash));
  if (entry == entries_.end()) return nullptr;
  const fs::path path = folder_ / entry->first;
  auto mapped = MappedFile::open(path);
  if (!mapped.ok()) {
    remove(entry);
    return nullptr;
  }
  std::error_code ignored;
  entry->second.last_use = Time::clock::now();
  fs::last_write_time(path, entry->second.last_use, ignored);  // for the next process
  return *std::move(mapped);
}

void WeightCache::remove(const Hash& hash) { remove_named(file_name(hash)); }

size_t WeightCache::partial_bytes(const Hash& hash) const {
  const auto entry = entries_.find(partial_name(hash));
  return entry == entries_.end() ? 0 : entry->second.bytes;
}

Status WeightCache::append(const Hash& hash, std::span<const std::byte> bytes) {
  const std::string name = partial_name(hash);
  make_room(bytes.size(), name);
  Status written = used_ + bytes.size() > quota_
                       ? Status(Code::kExhausted, "a weight is larger than the cache")
                       : write_at(folder_ / name, partial_bytes(hash), bytes);
  if (!written.ok()) {
    entries_.try_emplace(name);  // also if this chunk would have been its first
    remove_named(name);
    return written;
  }
  Entry& entry = entries_[name];
  entry.bytes += bytes.size();
  entry.last_use = Time::clock::now();
  used_ += bytes.size();
  return {};
}

void WeightCache::finish(const Hash& hash) {
  const auto partial = entries_.find(partial_name(hash));
  if (partial == entries_.end()) return;
  const std::string name = file_name(hash);
  remove_named(name);  // a rename would replace it uncounted
  std::error_code error;
  fs::rename(folder_ / partial->first, folder_ / name, error);
  if (error) return remove(partial);
  entries_[name] = partial->second;
  entries_.erase(partial);
}

void WeightCache::remove_partial(const Hash& hash) { remove_named(partial_name(hash)); }

void WeightCache::make_room(size_t bytes, const std::string& kept) {
  while (used_ + bytes > quota_) {
    auto oldest = entries_.end();
    for (auto it = entries_.begin(); it != entries_.end(); ++it) {
      if (it->first == kept) continue;
      if (oldest == entries_.end() || it->second.last_use < oldest->second.last_use) oldest = it;
    }
    if (oldest == entries_.end()) return;
    remove(oldest);
  }
}

// A mapping of the removed file stays valid until its last user is gone.
void WeightCache::remove(Entries::iterator entry) {
  std::error_code ignored;
  fs::remove(folder_ / entry->first, ignored);
  used_ -= entry->second.bytes;
  entries_.erase(entry);
}

void WeightCache::remove_named(const std::string& name) {
  const auto entry = entries_.find(name);
  if (entry != entries_.end()) remove(entry);
}

bool Store::has(const Hash& hash) {
  const std::lock_guard lock(mutex_);
  return has_locked(hash);
}

bool Store::has_locked(const Hash& hash) {
  if (blobs_.contains(hash)) return true;
  if (!cache_) return false;
  // Mapped now, so that it stays although the cache may remove the file to make space.
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

// The partial weight in memory that has not grown for longest. False if there is none.
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
