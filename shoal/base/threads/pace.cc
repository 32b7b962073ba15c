// A thread that has worked for w rests until w / share has passed since it began. Work is measured
// by the thread's own CPU clock, so that time spent waiting counts as rest.
#include "shoal/base/threads/pace.h"

#include <algorithm>
#include <ctime>
#include <thread>

namespace shoal {
namespace {

// Sleeps end about 60 microseconds late.
constexpr Nanoseconds kShortestNap = std::chrono::milliseconds(1);

Nanoseconds cpu_time() {
  timespec time{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return std::chrono::seconds(time.tv_sec) + Nanoseconds(time.tv_nsec);
}

}  // namespace

Nanoseconds rest_due(double share, Nanoseconds worked, Nanoseconds passed) {
  const std::chrono::duration<double, std::nano> whole(static_cast<double>(worked.count()) / share);
  return std::max(std::chrono::duration_cast<Nanoseconds>(whole) - passed, Nanoseconds(0));
}

Pace::Pace(double share) : share_(share), work_began_{}, began_{} {
  if (share_ >= 1) return;
  work_began_ = cpu_time();
  began_ = std::chrono::steady_clock::now();
}

Nanoseconds Pace::due() const {
  return rest_due(share_, cpu_time() - work_began_, std::chrono::steady_clock::now() - began_);
}

void Pace::keep() {
  if (share_ >= 1) return;
  if (const Nanoseconds rest = due(); rest >= kShortestNap) std::this_thread::sleep_for(rest);
}

void Pace::finish() {
  if (share_ < 1) std::this_thread::sleep_for(due());
}

}  // namespace shoal
