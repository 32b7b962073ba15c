#include "shoal/cluster/waker.h"

#include <utility>

namespace shoal::cluster {

Waker::Waker(std::chrono::milliseconds interval, std::function<void()> wake)
    : interval_(interval), wake_(std::move(wake)), thread_([this] { run(); }) {}

Waker::~Waker() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
    changed_.notify_all();
  }
  thread_.join();
}

void Waker::begin() {
  const std::lock_guard lock(mutex_);
  if (++waiting_ == 1) changed_.notify_all();
}

void Waker::end() {
  const std::lock_guard lock(mutex_);
  --waiting_;
}

void Waker::run() {
  std::unique_lock lock(mutex_);
  while (!over_) {
    if (waiting_ == 0) {
      changed_.wait(lock);
      continue;
    }
    lock.unlock();
    wake_();
    lock.lock();
    changed_.wait_for(lock, interval_, [&] { return over_; });
  }
}

}  // namespace shoal::cluster
