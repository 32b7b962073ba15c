// Hand: a thread that does one thing after another. Processes that it starts live as long as it
// does.
#pragma once

#include <condition_variable>
#include <deque>
#include <future>
#include <mutex>
#include <thread>

#include "shoal/base/status.h"

namespace shoal::cli {

class Hand {
 public:
  using Task = std::packaged_task<Status()>;

  Hand() : thread_([this] { work(); }) {}
  ~Hand() {
    {
      const std::lock_guard lock(mutex_);
      over_ = true;
      changed_.notify_one();
    }
    thread_.join();
  }
  Hand(const Hand&) = delete;
  Hand& operator=(const Hand&) = delete;

  std::future<Status> ask(std::function<Status()> what) {
    const std::lock_guard lock(mutex_);
    std::future<Status> done = tasks_.emplace_back(std::move(what)).get_future();
    changed_.notify_one();
    return done;
  }

 private:
  void work() {
    std::unique_lock lock(mutex_);
    for (;;) {
      changed_.wait(lock, [&] { return over_ || !tasks_.empty(); });
      if (tasks_.empty()) return;
      Task task = std::move(tasks_.front());
      tasks_.pop_front();
      lock.unlock();
      task();
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Task> tasks_;
  bool over_ = false;
  std::thread thread_;
};

}  // namespace shoal::cli
