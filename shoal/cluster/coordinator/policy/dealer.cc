#include "shoal/cluster/coordinator/policy/dealer.h"

#include <algorithm>
#include <limits>

namespace shoal::cluster {

void Dealer::set_workers(const std::map<int, size_t>& requests) {
  std::erase_if(workers_, [&](const auto& known) { return !requests.contains(known.first); });
  for (const auto& [worker, count] : requests) {
    workers_[worker].share = static_cast<double>(std::max<size_t>(count, 1));
  }
}

// Shares give the ratios of the workers' seconds; measured ones give their unit.
int Dealer::begin(int usual, Time now) {
  double measured = 0, expected = 0;
  for (const auto& [number, worker] : workers_) {
    if (worker.seconds == 0) continue;
    measured += worker.seconds;
    expected += 1 / worker.share;
  }
  const double scale = expected > 0 ? measured / expected : 1;
  auto best = workers_.begin();
  double least = std::numeric_limits<double>::infinity();
  for (auto each = workers_.begin(); each != workers_.end(); ++each) {
    const Worker& worker = each->second;
    const double seconds = worker.seconds > 0 ? worker.seconds : scale / worker.share;
    const std::chrono::duration<double> worked = now - worker.since;
    const double rest = worker.requests > 0 ? std::max(0.0, seconds - worked.count()) : seconds;
    const double done = rest + static_cast<double>(worker.requests) * seconds;
    const bool is_better = (worker.requests == 0) == (best->second.requests == 0)
                               ? done < least
                               : worker.requests == 0;
    if (!is_better) continue;
    best = each;
    least = done;
  }
  const bool is_idle =
      std::ranges::all_of(workers_, [](const auto& each) { return each.second.requests == 0; });
  if (const auto next = workers_.find(usual); is_idle && next != workers_.end()) best = next;
  Worker& worker = best->second;
  if (worker.requests++ == 0) worker.since = now;
  return best->first;
}

void Dealer::end(int number, bool is_answered, Time now) {
  constexpr double kNew = 0.25;  // the weight of the latest request
  const auto found = workers_.find(number);
  if (found == workers_.end()) return;
  Worker& worker = found->second;
  if (worker.requests == 0) return;  // it began before the worker was lost and came back
  --worker.requests;
  const std::chrono::duration<double> took = now - worker.since;
  worker.since = now;
  if (!is_answered || took.count() <= 0) return;
  worker.seconds =
      worker.seconds == 0 ? took.count() : (1 - kNew) * worker.seconds + kNew * took.count();
}

}  // namespace shoal::cluster
