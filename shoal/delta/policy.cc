#include "shoal/delta/policy.h"

#include <algorithm>
#include <utility>

namespace shoal::delta {

bool Policy::is_whole(double changed) {
  if (changed > most_changed_) return true;
  if (wait_ == 0) return false;
  --wait_;
  return true;
}

void Policy::computed_tiles(double share) {
  // The first frame by tiles makes up for all that changed meanwhile.
  if (!std::exchange(is_settled_, true) || !adapts_) return;
  if (share <= kMostShare) {
    losses_ = 0;
    backoff_ = kLeastWait;
  } else if (++losses_ == kLosses) {
    losses_ = 0;
    wait_ = backoff_;
    backoff_ = std::min(2 * backoff_, kMostWait);
  }
}

}  // namespace shoal::delta
