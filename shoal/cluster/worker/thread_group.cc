#include "shoal/cluster/worker/thread_group.h"

#include <system_error>
#include <utility>

namespace shoal::cluster {

ThreadGroup::~ThreadGroup() { join(); }

bool ThreadGroup::run(std::function<void()> what) {
  const std::lock_guard lock(mutex_);
  // A thread sets `over` as its last act, so joining it does not block.
  std::erase_if(threads_, [](Task& task) {
    if (!task.over) return false;
    task.thread.join();
    return true;
  });
  // A list, because the thread refers to its entry while others come and go.
  Task& task = threads_.emplace_back();
  try {
    task.thread = std::thread([&task, what = std::move(what)] {
      what();
      task.over = true;
    });
  } catch (const std::system_error&) {
    threads_.pop_back();
    return false;
  }
  return true;
}

void ThreadGroup::join() {
  const std::lock_guard lock(mutex_);
  for (Task& task : threads_) task.thread.join();
  threads_.clear();
}

}  // namespace shoal::cluster
