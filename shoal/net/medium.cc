#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <utility>

#include "shoal/net/link.h"

namespace shoal::net {
namespace {

// When the medium will be free, in ticks of the steady clock, which all processes of a machine read
// alike. A file of zeros is a medium that was never used.
using FreeAt = std::atomic<int64_t>;
static_assert(FreeAt::is_always_lock_free && sizeof(FreeAt) == sizeof(int64_t));

class SharedMedium final : public Medium {
 public:
  explicit SharedMedium(std::shared_ptr<FreeAt> free_at) : free_at_(std::move(free_at)) {}

  Clock::time_point reserve(Clock::time_point earliest, Clock::duration duration) override {
    int64_t free_at = free_at_->load();
    int64_t end = 0;
    do {
      end = std::max(free_at, earliest.time_since_epoch().count()) + duration.count();
    } while (!free_at_->compare_exchange_weak(free_at, end));
    return Clock::time_point(Clock::duration(end));
  }

 private:
  const std::shared_ptr<FreeAt> free_at_;
};

}  // namespace

std::shared_ptr<Medium> Medium::create() {
  return std::make_shared<SharedMedium>(std::make_shared<FreeAt>(0));
}

Result<std::shared_ptr<Medium>> Medium::open(const std::filesystem::path& file) {
  const int fd = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) return system_status(errno).at(file.string());
  void* address = MAP_FAILED;
  if (::ftruncate(fd, sizeof(FreeAt)) == 0)
    address = ::mmap(nullptr, sizeof(FreeAt), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  const int error = errno;
  ::close(fd);
  if (address == MAP_FAILED) return system_status(error).at(file.string());
  std::shared_ptr<FreeAt> free_at(static_cast<FreeAt*>(address),
                                  [](FreeAt* mapped) { ::munmap(mapped, sizeof(FreeAt)); });
  return std::shared_ptr<Medium>(std::make_shared<SharedMedium>(std::move(free_at)));
}

}  // namespace shoal::net
