// Media and radios as atomic words, in memory or in files that several processes map. Reserving
// time is one compare-exchange on the moment when the medium becomes free, so no process can die
// with a lock.
#include <algorithm>
#include <atomic>
#include <utility>

#include "shoal/base/processes/shared_memory.h"
#include "shoal/cluster/net/link/link.h"

namespace shoal::net {
namespace {

// A moment in ticks of the steady clock, which all processes of a machine read alike. A file of
// zeros is a medium that was never used.
using Moment = std::atomic<int64_t>;
static_assert(Moment::is_always_lock_free && sizeof(Moment) == sizeof(int64_t));

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

struct RadioMoments {
  Moment last_use{0};
  Moment awake{0};  // from then on, since it was last woken
};

// Atomic maximum: concurrent users may report their times in any order.
void raise(Moment& moment, int64_t to) {
  int64_t seen = moment.load();
  while (seen < to && !moment.compare_exchange_weak(seen, to)) {
  }
}

class SharedRadio final : public Radio {
 public:
  explicit SharedRadio(std::shared_ptr<RadioMoments> moments) : moments_(std::move(moments)) {}

  void used_until(Clock::time_point time) override {
    raise(moments_->last_use, time.time_since_epoch().count());
  }

  Clock::time_point wake(Clock::time_point now, Clock::duration after,
                         Clock::duration takes) override {
    const int64_t ticks = now.time_since_epoch().count();
    if (ticks - moments_->last_use.load() > after.count()) {
      raise(moments_->awake, ticks + takes.count());
      raise(moments_->last_use, ticks + takes.count());
    }
    return std::max(now, Clock::time_point(Clock::duration(moments_->awake.load())));
  }

 private:
  const std::shared_ptr<RadioMoments> moments_;
};

}  // namespace

std::shared_ptr<Medium> Medium::create() {
  return std::make_shared<SharedMedium>(std::make_shared<Moment>(0));
}

Result<std::shared_ptr<Medium>> Medium::open(const std::filesystem::path& file) {
  SHOAL_ASSIGN(std::shared_ptr<Moment> free_at, open_shared<Moment>(file));
  return std::shared_ptr<Medium>(std::make_shared<SharedMedium>(std::move(free_at)));
}

std::shared_ptr<Radio> Radio::create() {
  return std::make_shared<SharedRadio>(std::make_shared<RadioMoments>());
}

Result<std::shared_ptr<Radio>> Radio::open(const std::filesystem::path& file) {
  SHOAL_ASSIGN(std::shared_ptr<RadioMoments> moments, open_shared<RadioMoments>(file));
  return std::shared_ptr<Radio>(std::make_shared<SharedRadio>(std::move(moments)));
}

}  // namespace shoal::net
