#include "shoal/base/leader_followers.h"

namespace shoal {

void LeaderFollowers::run(const std::function<void()>& lead, const std::function<void()>& finish) {
  const std::thread::id self = std::this_thread::get_id();
  Lock lock(mutex_);
  for (;;) {
    follow(lock);
    if (stopped_) return;
    leader_ = self;
    while (leader_ == self && !stopped_) {
      lock.unlock();
      lead();
      lock.lock();
      if (leader_ == self) away_.reset();
    }
    lock.unlock();
    finish();
    lock.lock();
  }
}

// Returns when nobody leads. Only one of the followers looks after the leader, and only while there
// is something to look after: an idle server wakes nobody.
void LeaderFollowers::follow(Lock& lock) {
  bool watches = false;
  uint64_t seen = 0;
  while (!stopped_ && leader_ != std::thread::id()) {
    if (!watches && !is_watched_ && away_) {
      watches = is_watched_ = true;
      seen = watches_;
    }
    if (!watches) {
      changed_.wait(lock);
      continue;
    }
    const bool is_over = changed_.wait_for(lock, patience_) == std::cv_status::timeout;
    if (away_ && Clock::now() - *away_ >= patience_) {
      leader_ = {};
      away_.reset();
    } else if (is_over && watches_ == seen) {
      watches = is_watched_ = false;
    }
    seen = watches_;
  }
  if (watches) is_watched_ = false;
}

void LeaderFollowers::hand_over() {
  const Lock lock(mutex_);
  if (leader_ != std::this_thread::get_id()) return;
  leader_ = {};
  away_.reset();
  changed_.notify_one();
}

void LeaderFollowers::watch() {
  const Lock lock(mutex_);
  if (leader_ != std::this_thread::get_id()) return;
  if (!away_) away_ = Clock::now();
  ++watches_;
  if (!is_watched_) changed_.notify_one();
}

void LeaderFollowers::stop() {
  const Lock lock(mutex_);
  stopped_ = true;
  changed_.notify_all();
}

}  // namespace shoal
