// LinkClock: the times at which bytes leave and arrive on an emulated link. It sees sizes and
// times, not the bytes. Not thread-safe.
#pragma once

#include <cstddef>
#include <random>

#include "shoal/cluster/net/link/link.h"

namespace shoal::net {

// One direction of one channel.
class LinkClock {
 public:
  using Time = Medium::Clock::time_point;

  struct Transfer {
    Time left;     // the sender's buffer
    Time arrives;  // never before the one before it
  };

  // REQUIRES: `options` has both radios.
  LinkClock(const LinkOptions& options, uint64_t seed);

  Transfer transfer(size_t bytes, Time now);
  // Whether a write of this size is a heartbeat, which passes as if there were no link.
  static bool is_sign_of_life(size_t bytes);

 private:
  size_t count_lost(size_t bytes);
  Medium::Clock::duration jitter(std::chrono::nanoseconds most);

  const LinkOptions options_;
  std::mt19937_64 random_;
  Time free_at_;
  Time last_arrival_;
};

// The same world, slower: everything that takes time takes `dilation` times as long.
LinkSpec dilated(LinkSpec spec, double dilation);

}  // namespace shoal::net
