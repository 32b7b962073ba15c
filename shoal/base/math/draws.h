// Draws: random numbers one after the other, for decisions whose number is not known before.
#pragma once

#include <cstdint>

#include "shoal/base/math/random.h"

namespace shoal {

// The same numbers for the same seed on every machine. Not thread-safe.
class Draws {
 public:
  explicit Draws(uint64_t seed) : stream_(seed, 0) {}

  double uniform() { return static_cast<double>(stream_[next_++] >> 11) * 0x1p-53; }  // [0, 1)
  uint64_t below(uint64_t bound) { return stream_.below(bound, next_++); }
  // Both included.
  int64_t between(int64_t low, int64_t high) {
    return low + static_cast<int64_t>(below(static_cast<uint64_t>(high - low + 1)));
  }

 private:
  RandomStream stream_;
  uint64_t next_ = 0;
};

}  // namespace shoal
