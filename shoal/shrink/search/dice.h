// Dice: random numbers one after the other, for decisions whose number is not known before.
#pragma once

#include <cstdint>

#include "shoal/base/math/random.h"

namespace shoal::concurrent {

// The same numbers for the same seed on every machine. Not thread safe.
class Dice {
 public:
  explicit Dice(uint64_t seed) : stream_(seed, 0) {}

  double uniform() { return static_cast<double>(stream_[next_++] >> 11) * 0x1p-53; }  // [0, 1)
  uint64_t below(uint64_t bound) { return stream_.below(bound, next_++); }

 private:
  RandomStream stream_;
  uint64_t next_ = 0;
};

}  // namespace shoal::concurrent
