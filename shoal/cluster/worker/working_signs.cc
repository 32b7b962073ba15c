#include "shoal/cluster/worker/working_signs.h"

#include <utility>

namespace shoal::cluster {

WorkingSigns::WorkingSigns(std::function<void()> say, Options options)
    : options_(options), thread_([this, say = std::move(say)] { run(say); }) {}

WorkingSigns::~WorkingSigns() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
    changed_.notify_all();
  }
  thread_.join();
}

void WorkingSigns::step() {
  const std::lock_guard lock(mutex_);
  last_step_ = std::chrono::steady_clock::now();
}

void WorkingSigns::run(const std::function<void()>& say) {
  std::unique_lock lock(mutex_);
  while (!changed_.wait_for(lock, options_.interval, [this] { return over_; })) {
    if (std::chrono::steady_clock::now() - last_step_ > options_.longest_step) return;
    lock.unlock();
    say();
    lock.lock();
  }
}

}  // namespace shoal::cluster
