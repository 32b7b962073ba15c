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

// In ticks of the steady clock, which all processes of a machine read alike. A file of zeros is of
// something that was never used.
using Moment = std::atomic<int64_t>;
static_assert(Moment::is_always_lock_free && sizeof(Moment) == sizeof(int64_t));

Result<std::shared_ptr<Moment>> open_moment(const std::filesystem::path& file) {
  const int fd = ::open(file.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (fd < 0) return system_status(errno).at(file.string());
  void* address = MAP_FAILED;
  if (::ftruncate(fd, sizeof(Moment)) == 0)
    address = ::mmap(nullptr, sizeof(Moment), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  const int error = errno;
  ::close(fd);
  if (address == MAP_FAILED) return system_status(error).at(file.string());
  return std::shared_ptr<Moment>(static_cast<Moment*>(address),
                                 [](Moment* mapped) { ::munmap(mapped, sizeof(Moment)); });
}

class SharedMedium final : public Medium {
 public:
  explicit SharedMedium(std::shared_ptr<Moment> free_at) : free_at_(std::move(free_at)) {}

  Clock::time_point reserve(Clock::time_point earliest, Clock::duration duration) override {
    int64_t free_at = free_at_->load();
    int64_t end = 0;
    do {
      end = std::max(free_at, earliest.time_since_epoch().count()) + duration.count();
    } while (!free_at_->compare_exchange_weak(free_at, end));
    return Clock::time_point(Clock::duration(end));
  }

 private:
  const std::shared_ptr<Moment> free_at_;
};

class SharedRadio final : public Radio {
 public:
  explicit SharedRadio(std::shared_ptr<Moment> last) : last_(std::move(last)) {}

  void used_until(Clock::time_point time) override {
    const int64_t ticks = time.time_since_epoch().count();
    int64_t last = last_->load();
    while (last < ticks && !last_->compare_exchange_weak(last, ticks)) {
    }
  }

  bool asleep(Clock::time_point now, Clock::duration after) const override {
    return now - Clock::time_point(Clock::duration(last_->load())) > after;
  }

 private:
  const std::shared_ptr<Moment> last_;
};

}  // namespace

std::shared_ptr<Medium> Medium::create() {
  return std::make_shared<SharedMedium>(std::make_shared<Moment>(0));
}

Result<std::shared_ptr<Medium>> Medium::open(const std::filesystem::path& file) {
  SHOAL_ASSIGN(std::shared_ptr<Moment> free_at, open_moment(file));
  return std::shared_ptr<Medium>(std::make_shared<SharedMedium>(std::move(free_at)));
}

std::shared_ptr<Radio> Radio::create() {
  return std::make_shared<SharedRadio>(std::make_shared<Moment>(0));
}

Result<std::shared_ptr<Radio>> Radio::open(const std::filesystem::path& file) {
  SHOAL_ASSIGN(std::shared_ptr<Moment> last, open_moment(file));
  return std::shared_ptr<Radio>(std::make_shared<SharedRadio>(std::move(last)));
}

}  // namespace shoal::net
