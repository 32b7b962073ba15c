// Shared mappings, and futexes without FUTEX_PRIVATE_FLAG, which work across processes.
#include "shoal/base/processes/shared_memory.h"

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <ctime>

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

// std::atomic's own waits are for the threads of one process. The kernel compares the word with
// `seen` before it sleeps, so that a wake-up between load and wait is not lost.
void wait_shared(const std::atomic<uint32_t>& word, uint32_t seen,
                 std::chrono::steady_clock::time_point until) {
  using namespace std::chrono;
  static_assert(sizeof(word) == sizeof(uint32_t) && std::atomic<uint32_t>::is_always_lock_free);
  // An hour at most: callers wait in a loop, as a wait may return early anyway.
  const auto left = std::clamp(duration_cast<nanoseconds>(until - steady_clock::now()),
                               nanoseconds(0), nanoseconds(hours(1)));
  const auto whole = duration_cast<seconds>(left);
  const timespec timeout{.tv_sec = static_cast<time_t>(whole.count()),
                         .tv_nsec = static_cast<long>((left - whole).count())};
  ::syscall(SYS_futex, &word, FUTEX_WAIT, seen, &timeout, nullptr, 0);
}

void wake_shared(const std::atomic<uint32_t>& word) {
  ::syscall(SYS_futex, &word, FUTEX_WAKE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace shoal
