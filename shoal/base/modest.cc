#include "shoal/base/modest.h"

#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdint>
#include <thread>

namespace shoal {
namespace {

constexpr int kNice = 10;  // about a tenth of a core's time, where others want it
// Who is awakened waits until then: by default for some milliseconds, which is all that a small
// model takes. Kernels before 6.12 do not know of it, nor let anyone wait for a lower priority.
constexpr uint64_t kTurnNs = 100'000;

// As the kernel reads it; the libraries' headers do not have it, and its own do not go with theirs.
struct SchedulingWish {
  uint32_t size = sizeof(SchedulingWish);
  uint32_t policy = 0;  // the usual one
  uint64_t flags = 0;
  int32_t nice = kNice;
  uint32_t priority = 0;
  uint64_t turn_ns = kTurnNs;
  uint64_t deadline_ns = 0;
  uint64_t period_ns = 0;
};

void be_modest() {
  SchedulingWish wish;
  if (::syscall(SYS_sched_setattr, 0, &wish, 0) == 0) return;
  static_cast<void>(::setpriority(PRIO_PROCESS, 0, kNice));  // Linux: of this thread
}

}  // namespace

// A thread of its own, because only a privileged one could be what it was again.
void run_modestly(const std::function<void()>& what) {
  std::thread thread([&] {
    be_modest();
    what();
  });
  thread.join();
}

}  // namespace shoal
