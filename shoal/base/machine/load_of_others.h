// The load that other programs put on this machine.
#pragma once

#include <chrono>

namespace shoal {

// Cores that programs other than this one keep busy on the average while it looks, as Linux counts
// them; 0 where it does not say. Takes `window`.
double load_of_others(std::chrono::milliseconds window = std::chrono::milliseconds(100));

}  // namespace shoal
