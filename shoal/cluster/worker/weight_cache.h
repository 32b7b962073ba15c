// WeightCache: weights on disk by the hash of their bytes, so that a worker that was restarted, or
// cut off while it received them, does not ask for them again. A weight that is only partly here is
// kept, too, and goes on where it stopped.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <span>
#include <string>

#include "shoal/base/files/file.h"
#include "shoal/base/status.h"
#include "shoal/cluster/messages/wire.h"

namespace shoal::cluster {

// Nothing is synced: after a power cut, files may hold anything. Not thread-safe: Store guards it.
// One process at a time may use a folder.
class WeightCache {
 public:
  // Makes the folder if need be. Leaves files alone that are not those of a cache.
  static Result<WeightCache> open(const std::filesystem::path& folder, size_t quota_bytes);

  bool contains(const Hash& hash) const;
  // The file, whose bytes the caller has to check against the hash. Null if there is none.
  std::shared_ptr<const MappedFile> find(const Hash& hash);
  void remove(const Hash& hash);

  // The bytes that are here of a weight that is not whole.
  size_t partial_bytes(const Hash& hash) const;
  // Adds to it. Weights that were not used for longest, whole or not, are removed to make room.
  // Fails if it would exceed the quota or cannot be written; then nothing of it is kept.
  Status append(const Hash& hash, std::span<const std::byte> bytes);
  // From now on it is a weight that is whole. Nothing happens if there is none.
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

}  // namespace shoal::cluster
