// Pages of anonymous memory. Huge pages need ranges aligned to 2 MB; madvise takes the whole ones
// of a range.
#include "shoal/base/machine/pages.h"

#include <sys/mman.h>

#include <cstdint>
#include <new>

namespace shoal {

std::span<std::byte> whole_pages(std::span<std::byte> memory, size_t page) {
  const size_t into = reinterpret_cast<uintptr_t>(memory.data()) % page;
  const size_t skip = into == 0 ? 0 : page - into;
  if (memory.size() < skip) return {};
  return memory.subspan(skip, (memory.size() - skip) / page * page);
}

void prefer_huge_pages(void* memory, size_t bytes) {
  constexpr size_t kHugePage = size_t{2} << 20;
  const auto pages = whole_pages({static_cast<std::byte*>(memory), bytes}, kHugePage);
  if (!pages.empty()) ::madvise(pages.data(), pages.size(), MADV_HUGEPAGE);
}

void* allocate_pages(size_t bytes) {
  // mmap returns zeroed pages that take no memory until they are touched.
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  prefer_huge_pages(memory, bytes);
  return memory;
}

void free_pages(void* memory, size_t bytes) { ::munmap(memory, bytes); }

}  // namespace shoal
