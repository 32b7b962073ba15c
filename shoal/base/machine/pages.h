// How memory is divided into pages.
#pragma once

#include <cstddef>
#include <span>

namespace shoal {

// The part of memory that is whole pages of this size.
std::span<std::byte> whole_pages(std::span<std::byte> memory, size_t page);

// Asks for pages of megabytes under memory that has just been allocated and not been touched, if it
// is large. Weights are then read at the speed of the memory (a quarter faster than through pages
// of 4 KB, where bench_gemv was written), and filling them faults less often. A wish, not a need:
// it may stay without effect.
void prefer_huge_pages(void* memory, size_t bytes);

// Memory on pages of its own, all zero, which the system has back as soon as it is freed: a heap
// would keep what was large and short-lived. Throws std::bad_alloc, as operator new does.
void* allocate_pages(size_t bytes);
void free_pages(void* memory, size_t bytes);

}  // namespace shoal
