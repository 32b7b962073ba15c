#include "shoal/cluster/coordinator/policy/load_policy.h"

#include <algorithm>

namespace shoal::cluster {

void LoadPolicy::see(int worker, double slowdown, Time now) {
  const auto it = workers_.find(worker);
  if (it == workers_.end()) return;
  Worker& known = it->second;
  const double ratio = slowdown / known.planned;
  // Negated, so that NaN is no change.
  const bool has_changed = ratio >= options_.change || ratio <= 1 / options_.change;
  if (!has_changed) {
    known = {.planned = known.planned};
    return;
  }
  const bool is_slower = ratio > 1;
  if (!known.since || known.is_slower != is_slower) {
    known = {.planned = known.planned, .since = now, .is_slower = is_slower};
  }
  known.sum += slowdown;
  ++known.count;
}

void LoadPolicy::forget(int worker) {
  const auto it = workers_.find(worker);
  if (it != workers_.end()) it->second = {.planned = it->second.planned};
}

bool LoadPolicy::follow(Time now) {
  const auto lasted = [&](const Worker& worker, std::chrono::milliseconds time) {
    return worker.since && now - *worker.since >= time;
  };
  const bool changes = std::ranges::any_of(
      workers_, [&](const auto& entry) { return lasted(entry.second, options_.lasting); });
  if (!changes) return false;
  // One search for all: the next change must last anew.
  for (auto& [number, worker] : workers_) {
    if (lasted(worker, options_.lasting / 2)) worker = {.planned = worker.sum / worker.count};
  }
  return true;
}

double LoadPolicy::planned(int worker) const {
  const auto it = workers_.find(worker);
  return it == workers_.end() ? 1 : it->second.planned;
}

}  // namespace shoal::cluster
