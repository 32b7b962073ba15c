// Store: the weights of a worker, by the hash of their bytes. A weight that several plans or models
// share is sent and kept once. Weights come in chunks; a partial one outlives its connection and,
// with a cache, the process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>

#include "shoal/base/files/file.h"
#include "shoal/base/status.h"
#include "shoal/cluster/messages/running_hash.h"
#include "shoal/cluster/messages/wire.h"
#include "shoal/cluster/net/frame.h"

namespace shoal::cluster {

// Weights on disk by the hash of their bytes, so that a worker that was restarted, or cut off
// during a deployment, does not ask for them again. Partial weights are kept, too, and resumed.
// Nothing is synced: after a power cut, files may hold anything. Not thread-safe: Store guards it.
// One process at a time may use a folder.
class WeightCache {
 public:
  // Makes the folder if need be. Ignores files that are not the cache's.
  static Result<WeightCache> open(const std::filesystem::path& folder, size_t quota_bytes);

  bool contains(const Hash& hash) const;
  // The file; the caller checks its bytes against the hash. Null if there is none.
  std::shared_ptr<const MappedFile> find(const Hash& hash);
  void remove(const Hash& hash);

  // The bytes of a partial weight.
  size_t partial_bytes(const Hash& hash) const;
  // Appends to it. The least recently used weights, partial or not, are removed to make space.
  // Fails if it would exceed the quota or cannot be written; the weight is dropped then.
  Status append(const Hash& hash, std::span<const std::byte> bytes);
  // Marks the weight as complete. Ignored if there is none.
  void finish(const Hash& hash);
  void remove_partial(const Hash& hash);

  size_t bytes() const { return used_; }
  size_t quota() const { return quota_; }

 private:
  using Time = std::filesystem::file_time_type;
  struct Entry {
    size_t bytes = 0;
    Time last_use;
  };
  using Entries = std::map<std::string, Entry>;  // by file name

  WeightCache(std::filesystem::path folder, size_t quota)
      : folder_(std::move(folder)), quota_(quota) {}
  void take_stock();
  // Never removes `kept`.
  void make_room(size_t bytes, const std::string& kept = {});
  void remove(Entries::iterator entry);
  void remove_named(const std::string& name);

  std::filesystem::path folder_;
  size_t quota_;
  size_t used_ = 0;
  Entries entries_;
};

// Thread-safe.
class Store {
 public:
  // With a cache on disk, weights survive a restart.
  explicit Store(size_t quota_bytes, std::optional<WeightCache> cache = std::nullopt)
      : quota_(quota_bytes), cache_(std::move(cache)) {}

  // Quick: a weight on disk is believed until verify().
  bool has(const Hash& hash);
  // The bytes of a partial weight, from its beginning.
  uint64_t partial_bytes(const Hash& hash) const;

  // Takes a chunk of a weight of `total` bytes. Returns how many bytes of it are present then, from
  // its beginning: no more than before if the chunk does not follow them, and none if the complete
  // weight has another hash. Fails with
  //   kCorrupt    the chunk reaches beyond the weight
  //   kExhausted  the quota is too small, even without the weights that no plan uses
  Result<uint64_t> append(const Hash& hash, uint64_t total, uint64_t offset,
                          std::span<const std::byte> chunk);

  bool is_verified(const Hash& hash) const;  // it is here, and need not be checked any more
  // Checks bytes from disk against the hash, which takes long. kNotFound if there are none, or if
  // they are damaged; these are removed.
  Status verify(const Hash& hash);

  size_t bytes() const;  // in memory
  // Undefined if there is none that is verified, or it has another size.
  Tensor find(const Hash& hash, const TensorType& type) const;

 private:
  struct Blob {
    std::shared_ptr<const void> keep;
    std::span<const std::byte> bytes;
    bool verified = false;
  };
  struct Partial {
    uint64_t total = 0, have = 0;
    std::optional<RunningHash> hash = {};  // none: its beginning came to an earlier process
    net::Buffer memory = {};               // empty: it lies in the cache
    uint64_t last_use = 0;
  };
  using Partials = std::map<Hash, Partial>;

  bool has_locked(const Hash& hash);
  Status add(const Hash& hash, Blob blob);
  Result<Partials::iterator> partial(const Hash& hash, uint64_t total);
  Result<Partial> begin_on_disk(const Hash& hash, uint64_t total);
  Result<Partial> begin_in_memory(uint64_t total);
  Status write(const Hash& hash, Partial& partial, std::span<const std::byte> chunk);
  Result<uint64_t> finish(Partials::iterator partial);
  bool drop_oldest_partial();
  void drop(Partials::iterator partial);
  Status make_room(size_t bytes);

  const size_t quota_;
  mutable std::mutex mutex_;
  size_t used_ = 0;
  uint64_t uses_ = 0;
  std::map<Hash, Blob> blobs_;
  Partials partials_;
  std::optional<WeightCache> cache_;
};

}  // namespace shoal::cluster
