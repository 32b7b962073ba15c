#include "shoal/cluster/net/channel/heartbeat_timer.h"

namespace shoal::net {

HeartbeatTimer::HeartbeatTimer(std::chrono::milliseconds interval)
    : thread_([this, interval] { run(interval); }) {}

HeartbeatTimer::~HeartbeatTimer() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  stopped_.notify_all();
  thread_.join();
}

void HeartbeatTimer::add(Heartbeat& one) {
  const std::lock_guard lock(mutex_);
  beating_.push_back(&one);
}

void HeartbeatTimer::remove(Heartbeat& one) {
  const std::lock_guard lock(mutex_);
  std::erase(beating_, &one);
}

void HeartbeatTimer::run(std::chrono::milliseconds interval) {
  std::unique_lock lock(mutex_);
  // Relative to now, not to the last beat: beats that were missed while this machine slept are not
  // made up for, because no peer could have answered them.
  while (!stopped_.wait_for(lock, interval, [this] { return stop_; }))
    for (Heartbeat* one : beating_) one->beat();
}

}  // namespace shoal::net
