// Allocation of frames.
#include "shoal/engine/cpu/frame.h"

#include <algorithm>
#include <string>

#include "shoal/base/machine/pages.h"

namespace shoal::cpu {
namespace {

// Large arenas are a plan's doing, so running out of memory is an error for the caller, not an
// exception. Huge pages must be asked for before the first touch.
Result<Bytes> allocate(size_t size) {
  size = std::max<size_t>(size, 1);
  auto* memory = static_cast<std::byte*>(
      ::operator new[](size, std::align_val_t{kHostAlignment}, std::nothrow));
  if (memory != nullptr) {
    prefer_huge_pages(memory, size);
    return Bytes(memory);
  }
  return Status(Code::kExhausted, "no memory for " + std::to_string(size >> 20) + " MiB of values");
}

}  // namespace

Result<std::unique_ptr<Frame>> make_frame(size_t arena_bytes, size_t scratch_bytes) {
  auto frame = std::make_unique<Frame>();
  SHOAL_ASSIGN(frame->arena, allocate(arena_bytes));
  SHOAL_ASSIGN(frame->scratch, allocate(scratch_bytes));
  return frame;
}

}  // namespace shoal::cpu
