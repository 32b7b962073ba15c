// WeightCache: weights on disk by the hash of their bytes, so that a worker that was restarted, or
// cut off while it received them, does not ask for them again.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <memory>
#include <span>

#include "shoal/base/file.h"
#include "shoal/base/status.h"
#include "shoal/cluster/wire.h"

namespace shoal::cluster {

// Not thread-safe: Store guards it. One process at a time may use a folder.
class WeightCache {
 public:
  // Makes the folder if need be. Leaves files alone that are not those of a cache.
  static Result<WeightCache> open(const std::filesystem::path& folder, size_t quota_bytes);

  // Null if there is none. A file whose bytes have another hash is removed.
  std::shared_ptr<const MappedFile> find(const Hash& hash);

  // Removes the weights that were not used for longest to make room. A weight that does not fit, or
  // cannot be written, is not kept: it will be sent again.
  void keep(const Hash& hash, std::span<const std::byte> bytes);

  size_t bytes() const { return used_; }

 private:
  using Time = std::filesystem::file_time_type;
  struct Entry {
    size_t bytes = 0;
    Time last_use;
  };

  WeightCache(std::filesystem::path folder, size_t quota)
      : folder_(std::move(folder)), quota_(quota) {}
  void take_stock();
  void make_room(size_t bytes);
  void remove(std::map<std::string, Entry>::iterator entry);

  std::filesystem::path folder_;
  size_t quota_;
  size_t used_ = 0;
  std::map<std::string, Entry> entries_;  // by file name
};

}  // namespace shoal::cluster
