// FolderLock: lets one process at a time change the files of a folder. The kernel releases the lock
// of a process that is killed.
#pragma once

#include <filesystem>
#include <utility>

#include "shoal/base/status.h"

namespace shoal::net {

// Held until it is destroyed. Blocks, also against another lock of the same process.
class FolderLock {
 public:
  // Also deletes files left by killed writers. Fails if the folder does not exist.
  static Result<FolderLock> take(const std::filesystem::path& folder);

  FolderLock(FolderLock&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FolderLock& operator=(FolderLock&&) = delete;
  ~FolderLock();

 private:
  explicit FolderLock(int fd) : fd_(fd) {}
  int fd_;
};

}  // namespace shoal::net
