// ThreadGroup: threads that end by themselves.
#pragma once

#include <atomic>
#include <functional>
#include <list>
#include <mutex>
#include <thread>

namespace shoal::cluster {

class ThreadGroup {
 public:
  ~ThreadGroup();  // joins

  void run(std::function<void()> what);
  void join();  // all; nobody may begin one meanwhile

 private:
  struct Task {
    std::thread thread;
    std::atomic<bool> over = false;
  };

  std::mutex mutex_;
  std::list<Task> threads_;  // those that are over stay until the next one begins
};

}  // namespace shoal::cluster
