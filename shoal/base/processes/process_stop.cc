#include "shoal/base/processes/process_stop.h"

#include <signal.h>

namespace shoal {

void ProcessStop::ask() {
  const std::lock_guard lock(mutex_);
  asked_ = true;
  if (process_ != nullptr) process_->send_signal(SIGTERM);
}

bool ProcessStop::asked() const {
  const std::lock_guard lock(mutex_);
  return asked_;
}

void ProcessStop::concerns(Process& process) {
  const std::lock_guard lock(mutex_);
  process_ = &process;
  if (asked_) process.send_signal(SIGTERM);
}

void ProcessStop::is_over() {
  const std::lock_guard lock(mutex_);
  process_ = nullptr;
}

}  // namespace shoal
