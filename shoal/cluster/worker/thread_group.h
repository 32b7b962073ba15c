// ThreadGroup: threads that end by themselves and are joined together.
#pragma once

#include <atomic>
#include <functional>
#include <list>
#include <mutex>
#include <thread>

namespace shoal::cluster {

// Thread-safe, but for join().
class ThreadGroup {
 public:
  ~ThreadGroup();  // joins

  // Calls `what` on a thread of its own. False, and it is not called, if there is no thread to be
  // had. REQUIRES: it does not throw.
  bool run(std::function<void()> what);
  void join();  // all. REQUIRES: run() is not called meanwhile

 private:
  struct Task {
    std::thread thread;
    std::atomic<bool> over = false;
  };

  std::mutex mutex_;
  std::list<Task> threads_;  // finished ones stay until the next one begins
};

}  // namespace shoal::cluster
