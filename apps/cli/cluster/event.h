// Event: something that happens once, and someone who waits for it.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

namespace shoal::cli {

class Event {
 public:
  void set() {
    const std::lock_guard lock(mutex_);
    happened_ = true;
    changed_.notify_all();
  }
  void wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return happened_; });
  }
  bool wait_until(std::chrono::steady_clock::time_point deadline) {
    std::unique_lock lock(mutex_);
    return changed_.wait_until(lock, deadline, [&] { return happened_; });
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool happened_ = false;
};

}  // namespace shoal::cli
