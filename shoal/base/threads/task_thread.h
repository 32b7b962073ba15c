// TaskThread: a thread that runs tasks one after another, in the order in which they were posted.
// What the waiting tasks hold is bounded in bytes.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace shoal {

class TaskThread {
 public:
  using Task = std::function<void()>;

  // `most_bytes` bounds what waiting tasks hold together, as far as post() is told.
  explicit TaskThread(size_t most_bytes = size_t{64} << 20);
  // Waits for the task that is running. Tasks that have not begun are dropped.
  ~TaskThread();
  TaskThread(const TaskThread&) = delete;
  TaskThread& operator=(const TaskThread&) = delete;

  // Never blocks. Thread-safe; tasks may post further tasks. `bytes` is what the task holds until
  // it has run. False if there is no room for them; the task is dropped. Where nothing waits that
  // holds bytes, a task is taken however much it holds. Where there is no room, waiting tasks whose
  // `is_over` returns true are dropped first. REQUIRES: `is_over` does not use this thread.
  bool post(Task task, size_t bytes = 0, std::function<bool()> is_over = nullptr);

 private:
  struct Waiting {
    Task task;
    size_t bytes = 0;
    std::function<bool()> is_over;
  };

  void run();
  void take_out(std::deque<Waiting>& over);

  const size_t most_bytes_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Waiting> tasks_;
  size_t bytes_ = 0;  // that they hold together
  bool over_ = false;
  std::thread thread_;  // last: it uses the rest
};

}  // namespace shoal
