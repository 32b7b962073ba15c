// Description of this machine and its load, as Linux reports them.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace shoal {

struct Machine {
  std::string processor;  // "unknown" if Linux does not say
  uint64_t memory_bytes = 0;
  uint64_t free_bytes = 0;  // available without swapping
  double load = 0;          // processes that ran or wanted to, over the last minute
};

Machine describe_machine();

// This machine's network name; "worker" if it has none.
std::string host_name();

uint64_t physical_memory_bytes();

// Threads of all programs that are running or runnable now, the calling one included; 0 if unknown.
int runnable_threads();

// Peak memory of this process. getrusage's figure begins with the peak of the parent process.
uint64_t peak_memory_bytes();

// Average number of cores that other programs keep busy during `window`, for which it blocks; 0 if
// unknown.
double load_of_others(std::chrono::milliseconds window = std::chrono::milliseconds(100));

// The cores that this process may run on (its affinity mask), by number. At least one.
std::vector<int> usable_cores();

}  // namespace shoal
