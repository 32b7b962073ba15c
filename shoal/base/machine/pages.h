// How memory is divided into pages.
#pragma once

#include <cstddef>
#include <span>

namespace shoal {

// The whole pages of this size inside `memory`.
std::span<std::byte> whole_pages(std::span<std::byte> memory, size_t page);

// Asks for huge pages for memory that is allocated and not yet touched, if it is large. Weights are
// then read at the speed of the memory (a quarter faster than through pages of 4 KB, where
// bench_gemv was written), and filling them faults less often. A hint: it may have no effect.
void prefer_huge_pages(void* memory, size_t bytes);

// Zeroed memory on separate pages, which go back to the system when freed; a heap would keep large,
// short-lived blocks. Throws std::bad_alloc, as operator new does.
void* allocate_pages(size_t bytes);
void free_pages(void* memory, size_t bytes);

}  // namespace shoal
