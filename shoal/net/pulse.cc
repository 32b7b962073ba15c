#include "shoal/net/pulse.h"

namespace shoal::net {

Pulse::Pulse(std::chrono::milliseconds interval) : thread_([this, interval] { run(interval); }) {}

Pulse::~Pulse() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  stopped_.notify_all();
  thread_.join();
}

void Pulse::add(Beating& one) {
  const std::lock_guard lock(mutex_);
  beating_.push_back(&one);
}

void Pulse::remove(Beating& one) {
  const std::lock_guard lock(mutex_);
  std::erase(beating_, &one);
}

void Pulse::run(std::chrono::milliseconds interval) {
  std::unique_lock lock(mutex_);
  // Relative to now, not to the last beat: beats that were missed are not made up for, because
  // nobody could have answered them.
  while (!stopped_.wait_for(lock, interval, [this] { return stop_; }))
    for (Beating* one : beating_) one->beat();
}

}  // namespace shoal::net
