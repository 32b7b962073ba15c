// A bump allocator with lists of free blocks by size. Before each block lies a header with its
// size; the mark tells a block that is freed twice, or was never allocated.
#include "heap.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>

namespace shoal::simulation {
namespace {

constexpr size_t kHeapBytes = size_t{4} << 30;
constexpr uintptr_t kBase = 0x10'0000'0000;
constexpr uint32_t kUsed = 0xa110ca7e, kFreed = 0xf7eedf7e;
constexpr size_t kMostPoisoned = 4096;  // of a block; the rest is not worth the time

struct alignas(16) Header {
  uint64_t bytes;
  uint32_t mark;
};
static_assert(sizeof(Header) == 16);

constexpr size_t kExactClasses = 64, kClasses = kExactClasses + 40;
std::byte *heap_next = nullptr, *heap_end = nullptr;
std::byte* free_blocks[kClasses] = {};  // each holds a pointer to the next
bool reuses = true;

[[noreturn]] void end_process(const char* why) {
  static_cast<void>(!::write(STDERR_FILENO, why, std::strlen(why)));
  std::abort();
}

// Multiples of 16 up to 1024, then powers of two.
size_t rounded(size_t bytes) {
  bytes = std::max<size_t>(16, (bytes + 15) / 16 * 16);
  return bytes <= 16 * kExactClasses ? bytes : std::bit_ceil(bytes);
}
size_t class_of(size_t rounded_bytes) {
  if (rounded_bytes <= 16 * kExactClasses) return rounded_bytes / 16 - 1;
  return kExactClasses + static_cast<size_t>(std::countr_zero(rounded_bytes)) - 11;
}

Header& header_of(void* block) { return static_cast<Header*>(block)[-1]; }

void* allocate(size_t bytes, size_t alignment) {
  if (bytes > kHeapBytes / 4) {
    errno = ENOMEM;
    return nullptr;
  }
  if (heap_next == nullptr) {
    heap_next = reserve_memory(kHeapBytes);
    heap_end = heap_next + kHeapBytes;
  }
  // Exactly the requested bytes, if memory is not reused.
  const size_t size = reuses ? rounded(bytes) : std::max<size_t>(16, (bytes + 15) / 16 * 16);
  if (reuses && alignment <= 16) {
    std::byte*& first = free_blocks[class_of(size)];
    if (first != nullptr) {
      void* const block = first;
      std::memcpy(&first, block, sizeof(first));
      header_of(block).mark = kUsed;
      return block;
    }
  }
  const auto at = reinterpret_cast<uintptr_t>(heap_next) + sizeof(Header);
  auto* const block = reinterpret_cast<std::byte*>((at + alignment - 1) / alignment * alignment);
  heap_next = block + size;
  if (heap_next > heap_end) end_process("the simulation's heap is full\n");
  header_of(block) = {size, kUsed};
  return block;
}

void release(void* block) {
  if (block == nullptr) return;
  Header& header = header_of(block);
  if (header.mark != kUsed) end_process("memory is freed that is not in use\n");
  header.mark = kFreed;
  if (!reuses) {
    std::memset(block, kFreedByte, std::min(header.bytes, kMostPoisoned));
    return;
  }
  std::byte*& first = free_blocks[class_of(rounded(header.bytes))];
  std::memcpy(block, &first, sizeof(first));
  first = static_cast<std::byte*>(block);
}

}  // namespace

std::byte* reserve_memory(size_t bytes) {
  static uintptr_t next = kBase;
  void* const got =
      ::mmap(reinterpret_cast<void*>(next), bytes, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0);
  if (got == MAP_FAILED) end_process("the simulation's memory is taken\n");
  next += (bytes + (size_t{1} << 30)) >> 30 << 30;  // to the next GiB
  return static_cast<std::byte*>(got);
}

void stop_reusing_memory() {
  reuses = false;
  // From here on the heap only grows: the kernel gives it in large pages, where it can.
  constexpr size_t kLargePage = size_t{2} << 20;
  const auto at = reinterpret_cast<uintptr_t>(heap_next);
  heap_next = reinterpret_cast<std::byte*>((at + kLargePage - 1) / kLargePage * kLargePage);
  ::madvise(heap_next, static_cast<size_t>(heap_end - heap_next), MADV_HUGEPAGE);
}
size_t allocated_bytes() {
  return heap_next == nullptr ? 0 : kHeapBytes - static_cast<size_t>(heap_end - heap_next);
}

}  // namespace shoal::simulation

// In place of the C library's.
extern "C" {

using shoal::simulation::allocate;
using shoal::simulation::release;

void* malloc(size_t bytes) noexcept { return allocate(bytes, 16); }
void free(void* block) noexcept { release(block); }

void* calloc(size_t count, size_t bytes) noexcept {
  size_t total = 0;
  if (__builtin_mul_overflow(count, bytes, &total)) return nullptr;
  void* const block = allocate(total, 16);
  if (block != nullptr) std::memset(block, 0, total);
  return block;
}

void* realloc(void* block, size_t bytes) noexcept {
  void* const grown = allocate(bytes, 16);
  if (block == nullptr || grown == nullptr) return grown;
  std::memcpy(grown, block, std::min<size_t>(bytes, shoal::simulation::header_of(block).bytes));
  release(block);
  return grown;
}

void* memalign(size_t alignment, size_t bytes) noexcept {
  return allocate(bytes, std::max<size_t>(16, alignment));
}
void* aligned_alloc(size_t alignment, size_t bytes) noexcept { return memalign(alignment, bytes); }
void* valloc(size_t bytes) noexcept { return memalign(4096, bytes); }

int posix_memalign(void** block, size_t alignment, size_t bytes) noexcept {
  *block = memalign(alignment, bytes);
  return *block != nullptr ? 0 : ENOMEM;
}

size_t malloc_usable_size(void* block) noexcept {
  return block == nullptr ? 0 : shoal::simulation::header_of(block).bytes;
}

}  // extern "C"
