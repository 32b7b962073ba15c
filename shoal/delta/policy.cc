#include "shoal/delta/policy.h"

#include <algorithm>
#include <utility>

namespace shoal::delta {

bool Policy::is_whole(double changed) {
  if (changed > most_changed_) return true;
  if (!adapts_) return false;
  if (wait_ == 0) return false;
  --wait_;
  return true;
}

void Policy::took(bool whole, double ms) {
  if (!adapts_) return;
  if (whole) {
    ++wholes_;
    // The first one touches new memory.
    if (wholes_ > 1) whole_ms_ = whole_ms_ == 0 ? ms : 0.8 * whole_ms_ + 0.2 * ms;
    is_settled_ = false;
    return;
  }
  // A first frame by tiles makes up for all that changed meanwhile.
  if (!std::exchange(is_settled_, true)) {
    if (wholes_ < 2) wait_ = 2 - wholes_;  // to know what they take
    return;
  }
  constexpr int kLosses = 3;
  losses_ = whole_ms_ > 0 && ms > whole_ms_ ? losses_ + 1 : 0;
  if (losses_ >= kLosses) {
    losses_ = 0;
    wait_ = backoff_;
    backoff_ = std::min(2 * backoff_, kMostWait);
  } else if (losses_ == 0) {
    backoff_ = kLeastWait;
  }
}

}  // namespace shoal::delta
