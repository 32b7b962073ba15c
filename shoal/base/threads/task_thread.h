// TaskThread: a thread that runs tasks one after another, in the order in which they were posted.
// The bytes that waiting tasks hold are bounded.
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

  // `most_bytes` bounds the sum of the `bytes` of waiting tasks.
  explicit TaskThread(size_t most_bytes = size_t{64} << 20);
  // Waits for the task that is running. Tasks that have not begun are dropped.
  ~TaskThread();
  TaskThread(const TaskThread&) = delete;
  TaskThread& operator=(const TaskThread&) = delete;

  // Never blocks. Thread-safe; tasks may post further tasks. `bytes` is what the task holds until
  // it has run. Returns false, and drops the task, if the bound would be exceeded even without the
  // waiting tasks whose `is_over` returns true; those are dropped first. A task is always taken if
  // no waiting task holds bytes. REQUIRES: `is_over` does not use this thread.
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
