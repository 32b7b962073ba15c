// ProcessStop: a request to end that is for a process, which may not have started yet or be over.
#pragma once

#include <mutex>

#include "shoal/base/processes/process.h"

namespace shoal {

// Thread-safe: who asks, for example when a signal comes, is another thread than the one that waits
// for the process.
class ProcessStop {
 public:
  // SIGTERM for the process, now or when it starts.
  void ask();
  bool asked() const;
  // From now on requests are for this process. REQUIRES: it lives until is_over().
  void concerns(Process& process);
  // What is left to do after the process has ended takes a while, and goes on without it.
  void is_over();

 private:
  mutable std::mutex mutex_;
  bool asked_ = false;
  Process* process_ = nullptr;
};

}  // namespace shoal
