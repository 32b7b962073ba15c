// ByteBudget: bounds the memory of one peer's frames.
#pragma once

#include <atomic>
#include <cstddef>
#include <memory>

#include "shoal/cluster/net/frame.h"

namespace shoal::cluster {

// Thread-safe.
class ByteBudget : public std::enable_shared_from_this<ByteBudget> {
 public:
  static std::shared_ptr<ByteBudget> make(size_t most_bytes) {
    return std::shared_ptr<ByteBudget>(new ByteBudget(most_bytes));
  }

  // Memory for a payload, counted while it is in use. kExhausted if it does not fit.
  Result<net::Buffer> allocate(size_t bytes);
  // The same memory for an owner with its own limit. It is no longer counted once `buffer` is gone.
  // REQUIRES: allocate() made the buffer, or it is empty.
  static net::Buffer uncounted(const net::Buffer& buffer);

  size_t used() const { return used_; }

 private:
  struct Counted;

  explicit ByteBudget(size_t most_bytes) : most_(most_bytes) {}

  const size_t most_;
  std::atomic<size_t> used_ = 0;
};

}  // namespace shoal::cluster
