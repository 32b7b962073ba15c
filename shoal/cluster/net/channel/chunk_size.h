// ChunkSize: adapts the size of chunks to the speed of the link.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>

#include "shoal/cluster/net/channel/chunk.h"

namespace shoal::net {

// Chunks that go out in a millisecond or a few, whatever the link: an urgent frame waits for no
// more, and on a fast link there are few to pay for.
class ChunkSize {
 public:
  size_t bytes() const { return bytes_; }
  void went_out_in(std::chrono::steady_clock::duration time) {
    if (time < std::chrono::milliseconds(1)) bytes_ = std::min(2 * bytes_, kMaxDataBytes);
    if (time > std::chrono::milliseconds(4)) bytes_ = std::max(bytes_ / 2, kLeast);
  }

 private:
  static constexpr size_t kLeast = size_t{16} << 10;
  size_t bytes_ = size_t{64} << 10;
};

}  // namespace shoal::net
