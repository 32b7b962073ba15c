#include "shoal/cluster/outbox.h"

namespace shoal::cluster {

Outbox::Outbox(Open open) : thread_([this, open = std::move(open)] { send_all(open); }) {}

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

void Outbox::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  if (channel_ != nullptr) channel_->close();
}

void Outbox::send_all(const Open& open) {
  const Result<ChannelPtr> channel = open();
  std::unique_lock lock(mutex_);
  if (channel.ok()) channel_ = *channel;
  if (closed_ && channel_ != nullptr) channel_->close();
  for (;;) {
    news_.wait(lock, [&] { return over_ || !jobs_.empty(); });
    if (over_) return;
    const Job job = std::move(jobs_.front());
    jobs_.pop_front();
    lock.unlock();
    job(channel);
    lock.lock();
  }
}

}  // namespace shoal::cluster
