#include "shoal/serve/queue/run_times.h"

namespace shoal::serve {

// Sizes are few: models run batches of powers of two, and odd requests alone. A client may still
// send any size, so that the table is bounded: what is in it stands for the others.
void RunTimes::learn(int64_t items, Duration took) {
  constexpr int kMemory = 8;  // batches until an old average has lost two thirds of its weight
  constexpr size_t kMostSizes = 64;
  const auto known = usual_.find(items);
  if (known != usual_.end()) {
    known->second += (took - known->second) / kMemory;
  } else if (usual_.size() < kMostSizes) {
    usual_[items] = took;
  }
}

RunTimes::Duration RunTimes::of(int64_t items) const {
  if (usual_.empty()) return Duration{0};
  const auto larger = usual_.lower_bound(items);
  if (larger != usual_.end()) return larger->second;
  const auto& [most, took] = *usual_.rbegin();
  const double times = static_cast<double>(items) / static_cast<double>(most);
  return Duration(static_cast<Duration::rep>(static_cast<double>(took.count()) * times));
}

}  // namespace shoal::serve
