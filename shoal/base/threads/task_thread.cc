// One thread, one queue. The lock is never held while a task runs, so that tasks may post.
#include "shoal/base/threads/task_thread.h"

#include <algorithm>
#include <iterator>

namespace shoal {

TaskThread::TaskThread(size_t most_bytes) : most_bytes_(most_bytes), thread_([this] { run(); }) {}

TaskThread::~TaskThread() {
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
    changed_.notify_one();
  }
  thread_.join();
}

bool TaskThread::post(Task task, size_t bytes, std::function<bool()> is_over) {
  std::deque<Waiting> over;  // freed after the lock: what a task holds may post
  const std::lock_guard lock(mutex_);
  const auto has_room = [&] { return bytes == 0 || bytes_ == 0 || bytes_ + bytes <= most_bytes_; };
  if (!has_room()) take_out(over);
  if (!has_room()) return false;
  tasks_.push_back({std::move(task), bytes, std::move(is_over)});
  bytes_ += bytes;
  changed_.notify_one();
  return true;
}

// Only when the queue is full, so that the usual post() inspects no tasks.
void TaskThread::take_out(std::deque<Waiting>& over) {
  const auto first = std::stable_partition(tasks_.begin(), tasks_.end(), [](const Waiting& one) {
    return one.is_over == nullptr || !one.is_over();
  });
  for (auto it = first; it != tasks_.end(); ++it) bytes_ -= it->bytes;
  over.assign(std::make_move_iterator(first), std::make_move_iterator(tasks_.end()));
  tasks_.erase(first, tasks_.end());
}

void TaskThread::run() {
  std::unique_lock lock(mutex_);
  for (;;) {
    changed_.wait(lock, [&] { return over_ || !tasks_.empty(); });
    // Tasks that have not begun are dropped with the queue.
    if (over_) return;
    Waiting next = std::move(tasks_.front());
    tasks_.pop_front();
    bytes_ -= next.bytes;
    lock.unlock();
    next.task();
    next = {};  // frees what it holds before the next task, and without the lock
    lock.lock();
  }
}

}  // namespace shoal
