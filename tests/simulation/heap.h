// Heap: malloc and its kin for a simulation. Addresses do not depend on the system, so that maps
// ordered by pointers are in the same order in every run. In a history, freed memory is overwritten
// and not reused: a use after free reads garbage.
#pragma once

#include <cstddef>

namespace shoal::simulation {

// Memory at an address that is the same in every run. Never freed.
std::byte* reserve_memory(size_t bytes);

inline constexpr int kFreedByte = 0xdb;  // what freed memory is overwritten with
void stop_reusing_memory();              // from now on; there is enough for one history
size_t allocated_bytes();                // since the process began, and never given back

}  // namespace shoal::simulation
