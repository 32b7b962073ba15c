#include "shoal/base/shared_memory.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>

namespace shoal {

Result<std::shared_ptr<void>> map_shared(const std::filesystem::path& file, size_t bytes) {
  const int fd = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) return system_status(errno).at(file.string());
  void* address = MAP_FAILED;
  if (::ftruncate(fd, static_cast<off_t>(bytes)) == 0) {
    address = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  }
  const int error = errno;
  ::close(fd);
  if (address == MAP_FAILED) return system_status(error).at(file.string());
  return std::shared_ptr<void>(address, [bytes](void* mapped) { ::munmap(mapped, bytes); });
}

}  // namespace shoal
