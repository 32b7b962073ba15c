
#include "shoal/base/machine/machine.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <ctime>
#include <fstream>
#include <string>
#include <string_view>
#include <thread>

namespace shoal {
namespace {

// The value of the first "key : value" line of a file; nothing if there is none.
std::string value_of(const char* file, std::string_view key) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with(key)) continue;
    const size_t at = line.find_first_not_of(" \t:", key.size());
    return at == line.npos ? "" : line.substr(at);
  }
  return "";
}

// ARM boards have a Model, and no model name.
std::string processor() {
  for (const char* key : {"model name", "Model"}) {
    if (std::string name = value_of("/proc/cpuinfo", key); !name.empty()) return name;
  }
  return "unknown";
}

uint64_t memory(const char* file, const char* key) {
  return std::strtoull(value_of(file, key).c_str(), nullptr, 10) << 10;
}

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

std::string host_name() {
  std::array<char, 64> name{};
  const bool is_known = gethostname(name.data(), name.size() - 1) == 0 && name[0] != '\0';
  return is_known ? name.data() : "worker";
}

Machine describe_machine() {
  Machine machine{processor(), physical_memory_bytes(), memory("/proc/meminfo", "MemAvailable")};
  std::ifstream("/proc/loadavg") >> machine.load;
  return machine;
}

uint64_t physical_memory_bytes() {
  return static_cast<uint64_t>(::sysconf(_SC_PHYS_PAGES)) *
         static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
}

// "0.20 0.18 0.12 1/80 11206": the fourth field is runnable threads and all threads.
int runnable_threads() {
  std::ifstream in("/proc/loadavg");
  std::string averages[3];
  int runnable = 0;
  in >> averages[0] >> averages[1] >> averages[2] >> runnable;
  return runnable;
}

uint64_t peak_memory_bytes() { return memory("/proc/self/status", "VmHWM"); }

double load_of_others(std::chrono::milliseconds window) {
  const double busy = busy_seconds(), own = own_seconds();
  const auto begin = std::chrono::steady_clock::now();
  std::this_thread::sleep_for(window);
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
  const double others = (busy_seconds() - busy) - (own_seconds() - own);
  // Ticks are coarser than the CPU time of a process, so that the difference may be below zero.
  return std::max(0.0, others / std::max(passed.count(), 1e-3));
}

std::vector<int> usable_cores() {
  cpu_set_t set;
  CPU_ZERO(&set);
  std::vector<int> cores;
  if (::sched_getaffinity(0, sizeof(set), &set) == 0) {
    for (int core = 0; core < CPU_SETSIZE; ++core) {
      if (CPU_ISSET(core, &set)) cores.push_back(core);
    }
  }
  if (cores.empty()) cores.push_back(0);
  return cores;
}

}  // namespace shoal
