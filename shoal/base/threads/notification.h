// Notification: something that happens once, for which any number of threads can wait.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

namespace shoal {

// Thread-safe.
class Notification {
 public:
  // May be called more than once.
  void notify() {
    const std::lock_guard lock(mutex_);
    notified_ = true;
    changed_.notify_all();
  }

  // Returns at once if notify() has been called.
  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return notified_; });
  }

  // Returns whether notify() was called before the deadline.
  bool wait_until(std::chrono::steady_clock::time_point deadline) {
    std::unique_lock lock(mutex_);
    return changed_.wait_until(lock, deadline, [&] { return notified_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool notified_ = false;
};

}  // namespace shoal
