#include "shoal/base/machine/machine.h"

#include <unistd.h>

#include <array>
#include <cstdlib>
#include <fstream>
#include <string_view>

namespace shoal {
namespace {

// The value of the first "key : value" line of a file; nothing where there is none.
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

}  // namespace shoal
