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

  void run(std::function<void()> what);  // on a thread of its own
  void join();                           // all. REQUIRES: run() is not called meanwhile

 private:
  struct Task {
    std::thread thread;
    std::atomic<bool> over = false;
  };

  std::mutex mutex_;
  std::list<Task> threads_;  // finished ones stay until the next one begins
};

}  // namespace shoal::cluster
