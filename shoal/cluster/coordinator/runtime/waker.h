// Waker: keeps the radios of workers awake while a request is in progress. A radio that sleeps
// takes tens of milliseconds to receive the next message.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace shoal::cluster {

// How often to send to a radio that falls asleep after this long without a message.
std::chrono::milliseconds wake_interval(double sleep_after_seconds);

// Thread-safe.
class Waker {
 public:
  // `wake` sends a message to a worker. It is called on the waker's thread.
  explicit Waker(std::function<void(int worker)> wake);
  ~Waker();

  // From now on wakes these workers when a request begins, and then every interval until none is in
  // progress. Initially no workers. REQUIRES: interval > 0.
  void watch_over(std::vector<int> workers, std::chrono::milliseconds interval);

  void begin();  // of a request
  void end();

 private:
  void run();

  const std::function<void(int)> wake_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<int> workers_;
  std::chrono::milliseconds interval_{0};
  int waiting_ = 0;
  bool over_ = false;
  std::thread thread_;
};

}  // namespace shoal::cluster
