// WeightCache: tensors on disk by the hash of their bytes, so that a worker that was restarted, or
// cut off in the middle, does not ask for them again.
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

// One thread at a time.
class WeightCache {
 public:
  // Makes the folder if it is not there. Files in it that are not a cache's stay as they are.
  static Result<WeightCache> open(const std::filesystem::path& folder, size_t quota_bytes);

  // Null if it is not there, or no longer what its name says; then it is removed.
  std::shared_ptr<const MappedFile> find(const Hash& hash);

  // Makes room by removing what was not used for longest. What does not fit, or cannot be written,
  // is not kept: it will travel again.
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
