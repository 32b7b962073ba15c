// The cores that this process may run on: those that its owner left to it.
#pragma once

#include <vector>

namespace shoal {

// Their numbers. At least one.
std::vector<int> usable_cores();

}  // namespace shoal
