// Pace: limits unproductive work, such as refusals, to a share of the time.
//
// The generic cell rate algorithm (ITU-T I.371): work of cost c postpones the time from which more
// may be done by c / share, beginning at most `burst` before now.
#pragma once

#include <algorithm>
#include <mutex>

#include "shoal/serve/queue/model_queue.h"

namespace shoal::serve {

struct PaceOptions {
  double share = 1.0 / 16;
  Duration burst = std::chrono::milliseconds(20);     // that may be done ahead of its time
  Duration longest = std::chrono::milliseconds(500);  // bounds each wait
};

// Thread-safe.
class Pace {
 public:
  explicit Pace(const PaceOptions& options) : options_(options) {}

  // Work has been done. Returns the time from which its client may send more.
  Time done(Time now, Duration cost) {
    const std::scoped_lock lock(mutex_);
    const auto takes =
        static_cast<Duration::rep>(static_cast<double>(cost.count()) / options_.share);
    free_at_ = std::max(free_at_, now - options_.burst) + Duration(takes);
    free_at_ = std::min(free_at_, now + options_.longest);
    return std::max(free_at_, now);
  }

 private:
  const PaceOptions options_;
  std::mutex mutex_;
  Time free_at_{};
};

}  // namespace shoal::serve
