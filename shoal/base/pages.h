// How memory is divided into pages.
#pragma once

#include <cstddef>

namespace shoal {

// Asks for pages of megabytes under memory that has just been allocated and not been touched, if it
// is large. Weights are then read at the speed of the memory (a quarter faster than through pages
// of 4 KB, where bench_gemv was written), and filling them faults less often. A wish, not a need:
// it may stay without effect.
void prefer_huge_pages(void* memory, size_t bytes);

}  // namespace shoal
