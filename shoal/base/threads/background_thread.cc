#include "shoal/base/threads/background_thread.h"

#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>

namespace shoal {
namespace {

constexpr int kNice = 10;  // about a tenth of a core's time, where others want it
// Length of a time slice. A thread that wakes up waits for the end of the running slice: by default
// some milliseconds, which is all that a small model takes. Kernels before 6.12 ignore it.
constexpr uint64_t kTurnNs = 100'000;
// The longest time at idle priority. On a busy machine such a thread may not run at all.
constexpr std::chrono::seconds kTimeout{2};

// The struct of sched_setattr(2). glibc does not declare it, and the kernel's header clashes with
// glibc's.
struct SchedulingWish {
  uint32_t size = sizeof(SchedulingWish);
  uint32_t policy = SCHED_OTHER;
  uint64_t flags = 0;
  int32_t nice = kNice;
  uint32_t priority = 0;
  uint64_t turn_ns = kTurnNs;
  uint64_t deadline_ns = 0;
  uint64_t period_ns = 0;
};

bool schedule(pid_t thread, int policy) {
  SchedulingWish wish;
  wish.policy = static_cast<uint32_t>(policy);
  return ::syscall(SYS_sched_setattr, thread, &wish, 0) == 0;
}

// Whether a thread can leave SCHED_IDLE again. Only privileged processes and those with a raised
// limit (RLIMIT_NICE; LimitNICE of a systemd unit) can; others would starve on a busy machine.
bool may_be_idle() {
  static const bool may = [] {
    bool came_back = false;
    std::thread([&] { came_back = schedule(0, SCHED_IDLE) && schedule(0, SCHED_OTHER); }).join();
    return came_back;
  }();
  return may;
}

void lower_priority() {
  if (may_be_idle() && schedule(0, SCHED_IDLE)) return;
  if (schedule(0, SCHED_OTHER)) return;
  static_cast<void>(::setpriority(PRIO_PROCESS, 0, kNice));  // Linux: of this thread
}

}  // namespace

// A separate thread: the caller's would not get its priority back.
void run_at_low_priority(const std::function<void()>& what) {
  std::mutex mutex;
  std::condition_variable changed;
  bool is_done = false;
  pid_t id = 0;
  std::thread thread([&] {
    {
      const std::lock_guard lock(mutex);
      id = ::gettid();
    }
    lower_priority();
    what();
    const std::lock_guard lock(mutex);
    is_done = true;
    changed.notify_one();
  });
  {
    std::unique_lock lock(mutex);
    const bool in_time = changed.wait_for(lock, kTimeout, [&] { return is_done; });
    if (!in_time && id != 0) static_cast<void>(schedule(id, SCHED_OTHER));
  }
  thread.join();
}

}  // namespace shoal
