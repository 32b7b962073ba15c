#include "shoal/cluster/net/frame.h"

#include <new>
#include <string>

namespace shoal::net {
namespace {

constexpr std::align_val_t kAlignment{64};

}  // namespace

Result<Buffer> Buffer::allocate(size_t size) {
  if (size == 0) return Buffer{};
  void* memory = ::operator new(size, kAlignment, std::nothrow);
  if (memory == nullptr)
    return Status(Code::kExhausted,
                  "no memory for a payload of " + std::to_string(size) + " bytes");
  return Buffer{std::shared_ptr<void>(memory, [](void* p) { ::operator delete(p, kAlignment); }),
                {static_cast<std::byte*>(memory), size}};
}

}  // namespace shoal::net
