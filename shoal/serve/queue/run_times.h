// RunTimes: how long a model takes for a batch, learned from the batches that ran.
#pragma once

#include <chrono>
#include <cstdint>
#include <map>

namespace shoal::serve {

// Not thread-safe.
class RunTimes {
 public:
  using Duration = std::chrono::steady_clock::duration;

  // A batch of so many items took so long. REQUIRES: items > 0
  void learn(int64_t items, Duration took);

  // The time to expect for a batch of so many items: what the next larger known size takes, or in
  // proportion to the largest known. Zero before the first learn(). REQUIRES: items > 0
  Duration of(int64_t items) const;

 private:
  std::map<int64_t, Duration> usual_;  // by items: moving averages
};

}  // namespace shoal::serve
