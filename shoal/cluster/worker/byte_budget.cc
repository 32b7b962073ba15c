#include "shoal/cluster/worker/byte_budget.h"

#include <string>
#include <utility>

namespace shoal::cluster {

// What the `keep` of a counted buffer points to.
struct ByteBudget::Counted {
  explicit Counted(std::shared_ptr<ByteBudget> of) : budget(std::move(of)) {}
  ~Counted() { budget->used_ -= bytes; }
  Counted(const Counted&) = delete;
  Counted& operator=(const Counted&) = delete;

  const std::shared_ptr<ByteBudget> budget;
  size_t bytes = 0;  // that count
  net::Buffer memory;
};

Result<net::Buffer> ByteBudget::allocate(size_t bytes) {
  if (bytes == 0) return net::Buffer{};
  auto counted = std::make_shared<Counted>(shared_from_this());
  // Counted before it is allocated, so that two readers of one peer do not both take the last
  // bytes. The sum cannot wrap: frames are bounded by the channel, and channels by the transport.
  const size_t before = used_.fetch_add(bytes);
  counted->bytes = bytes;
  if (before + bytes > most_) {
    return Status(Code::kExhausted, "what came holds " + std::to_string(before) +
                                        " bytes already: no room for " + std::to_string(bytes));
  }
  SHOAL_ASSIGN(counted->memory, net::Buffer::allocate(bytes));
  const std::span<std::byte> span = counted->memory.bytes;
  return net::Buffer{std::move(counted), span};
}

net::Buffer ByteBudget::uncounted(const net::Buffer& buffer) {
  if (buffer.keep == nullptr) return buffer;
  return static_cast<const Counted*>(buffer.keep.get())->memory;
}

}  // namespace shoal::cluster
