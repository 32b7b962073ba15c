// ThreadGroup: threads that end by themselves and are joined together.
#pragma once

#include <atomic>
#include <functional>
#include <list>
#include <mutex>
#include <thread>

namespace shoal::cluster {

// Thread-safe, except join().
class ThreadGroup {
 public:
  ~ThreadGroup();  // joins

  // Calls `what` on a new thread. False, without calling it, if no thread can be created. REQUIRES:
  // it does not throw.
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
