#include "shoal/base/modest.h"

#include <sys/resource.h>

#include <thread>

namespace shoal {

// A thread of its own, because only a privileged one could be what it was again.
void run_modestly(const std::function<void()>& what) {
  constexpr int kNice = 10;  // about a tenth of a core's time, where others want it
  std::thread thread([&] {
    static_cast<void>(::setpriority(PRIO_PROCESS, 0, kNice));  // Linux: of this thread
    what();
  });
  thread.join();
}

}  // namespace shoal
