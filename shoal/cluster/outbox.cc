#include "shoal/cluster/outbox.h"

namespace shoal::cluster {

Outbox::Outbox() : thread_([this] { send_all(); }) {}

Outbox::~Outbox() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
    news_.notify_one();
  }
  thread_.join();
}

void Outbox::put(Job job) {
  const std::lock_guard lock(mutex_);
  jobs_.push_back(std::move(job));
  news_.notify_one();
}

void Outbox::send_all() {
  std::unique_lock lock(mutex_);
  for (;;) {
    news_.wait(lock, [&] { return over_ || !jobs_.empty(); });
    if (over_) return;
    Job job = std::move(jobs_.front());
    jobs_.pop_front();
    lock.unlock();
    job();
    job = nullptr;  // what it kept is freed before the next one, and without the lock
    lock.lock();
  }
}

}  // namespace shoal::cluster
