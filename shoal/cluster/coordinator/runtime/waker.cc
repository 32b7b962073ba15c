#include "shoal/cluster/coordinator/runtime/waker.h"

#include <algorithm>
#include <utility>

#include "shoal/base/status.h"

namespace shoal::cluster {

// Twice as often as it would fall asleep, within bounds: figures come from a file, and neither a
// busy loop nor a clock that overflows is of use.
std::chrono::milliseconds wake_interval(double sleep_after_seconds) {
  constexpr double kLeast = 1, kMost = 3'600'000;  // milliseconds
  const double wanted = sleep_after_seconds * 1e3 / 2;
  return std::chrono::milliseconds(
      static_cast<int64_t>(std::min(std::max(kLeast, wanted), kMost)));  // kLeast for NaN
}

Waker::Waker(std::function<void(int)> wake) : wake_(std::move(wake)), thread_([this] { run(); }) {}

Waker::~Waker() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
    changed_.notify_all();
  }
  thread_.join();
}

void Waker::watch_over(std::vector<int> workers, std::chrono::milliseconds interval) {
  SHOAL_CHECK(interval.count() > 0);
  const std::lock_guard lock(mutex_);
  workers_ = std::move(workers);
  interval_ = interval;
  changed_.notify_all();
}

void Waker::begin() {
  const std::lock_guard lock(mutex_);
  // Only the first request needs a wake-up at once; the radios are awake during the others.
  if (++waiting_ == 1) changed_.notify_all();
}

void Waker::end() {
  const std::lock_guard lock(mutex_);
  --waiting_;
}

void Waker::run() {
  std::unique_lock lock(mutex_);
  while (!over_) {
    if (waiting_ == 0 || workers_.empty()) {
      changed_.wait(lock);
      continue;
    }
    // Sent without the lock: a send may block, and requests begin and end meanwhile.
    const std::vector<int> workers = workers_;
    lock.unlock();
    for (int worker : workers) wake_(worker);
    lock.lock();
    changed_.wait_for(lock, interval_, [&] { return over_; });
  }
}

}  // namespace shoal::cluster
