#include "shoal/cluster/net/folder_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>

#include "shoal/base/files/atomic_file.h"

namespace shoal::net {

Result<FolderLock> FolderLock::take(const std::filesystem::path& folder) {
  const std::filesystem::path path = folder / "lock";
  const int fd = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) return system_status(errno).at(path.string());
  FolderLock lock(fd);
  if (::flock(fd, LOCK_EX) != 0) return system_status(errno).at(path.string());
  remove_abandoned(folder);
  return lock;
}

FolderLock::~FolderLock() {
  if (fd_ >= 0) ::close(fd_);
}

}  // namespace shoal::net
