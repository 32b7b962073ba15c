// Description of this machine and its load, as Linux reports them.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace shoal {

struct Machine {
  std::string processor;  // "unknown" where nobody says
  uint64_t memory_bytes = 0;
  uint64_t free_bytes = 0;  // that could be had without swapping
  double load = 0;          // processes that ran or wanted to, over the last minute
};

Machine describe_machine();

// The name that it has in its network; "worker" where it has none.
std::string host_name();

uint64_t physical_memory_bytes();

// Threads of all programs that run or want to at this moment, the calling one included; 0 where
// Linux does not say.
int runnable_threads();

// The most memory this process ever had. Not getrusage's, which begins with the peak of the process
// that started the program.
uint64_t peak_memory_bytes();

// Cores that programs other than this one keep busy on the average while it looks, as Linux counts
// them; 0 where it does not say. Takes `window`.
double load_of_others(std::chrono::milliseconds window = std::chrono::milliseconds(100));

// The cores that this process may run on, by their numbers: those that its owner left to it. At
// least one.
std::vector<int> usable_cores();

}  // namespace shoal
