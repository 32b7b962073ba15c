// One thread, one queue. The lock is never held while a task runs, so that tasks may post.
#include "shoal/base/task_thread.h"

namespace shoal {

TaskThread::TaskThread() : thread_([this] { run(); }) {}

TaskThread::~TaskThread() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
    changed_.notify_one();
  }
  thread_.join();
}

void TaskThread::post(Task task) {
  const std::lock_guard lock(mutex_);
  tasks_.push_back(std::move(task));
  changed_.notify_one();
}

void TaskThread::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return over_ || !tasks_.empty(); });
    // Tasks that have not begun are dropped with the queue.
    if (over_) return;
    Task task = std::move(tasks_.front());
    tasks_.pop_front();
    lock.unlock();
    task();
    task = nullptr;  // frees what it holds before the next task, and without the lock
    lock.lock();
  }
}

}  // namespace shoal
