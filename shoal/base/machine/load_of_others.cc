// Busy time of the machine from /proc/stat, less the CPU time of this process.
#include "shoal/base/machine/load_of_others.h"

#include <unistd.h>

#include <algorithm>
#include <ctime>
#include <fstream>
#include <string>
#include <thread>

namespace shoal {
namespace {

// Seconds that all cores together have been busy. The columns of the first line are user, nice,
// system, idle, iowait, irq, softirq and steal, in ticks.
double busy_seconds() {
  std::ifstream in("/proc/stat");
  std::string name;
  double user = 0, nice = 0, system = 0, idle = 0, iowait = 0, irq = 0, softirq = 0, steal = 0;
  if (!(in >> name >> user >> nice >> system >> idle >> iowait >> irq >> softirq >> steal))
    return 0;
  const double ticks = user + nice + system + irq + softirq + steal;
  return ticks / static_cast<double>(::sysconf(_SC_CLK_TCK));
}

double own_seconds() {
  timespec time{};
  if (::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time) != 0) return 0;
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

}  // namespace

double load_of_others(std::chrono::milliseconds window) {
  const double busy = busy_seconds(), own = own_seconds();
  const auto begin = std::chrono::steady_clock::now();
  std::this_thread::sleep_for(window);
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
  const double others = (busy_seconds() - busy) - (own_seconds() - own);
  // Ticks are coarser than the CPU time of a process, so that the difference may be below zero.
  return std::max(0.0, others / std::max(passed.count(), 1e-3));
}

}  // namespace shoal
