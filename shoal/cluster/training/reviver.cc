#include "shoal/cluster/training/reviver.h"

#include <algorithm>

namespace shoal::cluster {

std::optional<Reviver::Clock::time_point> Reviver::next() const {
  const auto is_missing = [&](int worker) { return !except_.contains(worker); };
  if (interval_.count() == 0 || !std::ranges::any_of(coordinator_.lost(), is_missing)) {
    return std::nullopt;
  }
  return last_ + interval_;
}

void Reviver::look() {
  const auto due = next();
  if (!due || *due > Clock::now() || is_looking_.exchange(true)) return;
  last_ = Clock::now();
  thread_.post([this, except = except_] {
    coordinator_.revive_lost(except);
    is_looking_ = false;
  });
}

}  // namespace shoal::cluster
