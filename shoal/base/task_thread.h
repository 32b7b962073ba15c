// TaskThread: a thread that runs tasks one after another, in the order in which they were posted.
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

  TaskThread();
  // Waits for the task that is running. Tasks that have not begun are dropped.
  ~TaskThread();
  TaskThread(const TaskThread&) = delete;
  TaskThread& operator=(const TaskThread&) = delete;

  // Never blocks. Thread-safe; tasks may post further tasks.
  void post(Task task);

 private:
  void run();

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Task> tasks_;
  bool over_ = false;
  std::thread thread_;  // last: it uses the rest
};

}  // namespace shoal
