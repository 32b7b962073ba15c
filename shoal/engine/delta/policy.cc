#include "shoal/engine/delta/policy.h"

#include <algorithm>
#include <utility>

namespace shoal::delta {

bool Policy::is_whole(double changed) {
  if (wait_ == 0) return changed > most_changed_;
  --wait_;
  return true;
}

void Policy::computed_whole(double ms) {
  is_settled_ = false;
  // The first one touches new memory. Other programs only make frames longer, so that short ones
  // say more.
  if (++wholes_ <= 1) return;
  const double weight = ms < whole_ms_ ? 0.5 : 0.05;
  whole_ms_ = whole_ms_ == 0 ? ms : (1 - weight) * whole_ms_ + weight * ms;
}

void Policy::computed_tiles(double share, double ms) {
  if (!adapts_) return;
  // The first frame by tiles makes up for all that changed meanwhile.
  if (!std::exchange(is_settled_, true)) {
    constexpr size_t kTimed = 3;  // whole frames, to know what they take
    if (wholes_ < kTimed) wait_ = kTimed - wholes_;
    return;
  }
  if (share <= kMostShare && (whole_ms_ == 0 || ms < whole_ms_)) {
    losses_ = 0;
    backoff_ = kLeastWait;
  } else if (++losses_ == kLosses) {
    losses_ = 0;
    wait_ = backoff_;
    backoff_ = std::min(2 * backoff_, kMostWait);
  }
}

bool Checking::next() {
  if (wait_ == 0) return true;
  --wait_;
  return false;
}

void Checking::compared(double kept) {
  if (kept >= kLeastKept) {
    backoff_ = kLeastWait;
    return;
  }
  wait_ = backoff_;
  backoff_ = std::min(2 * backoff_, kMostWait);
}

}  // namespace shoal::delta
