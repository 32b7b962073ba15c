#include "shoal/cluster/coordinator/policy/attempt_window.h"

#include <algorithm>

#include "shoal/plan/cost/plan_stats.h"

namespace shoal::cluster {

// A worker computes one task at a time, so as many attempts can be computed at once as there are
// workers for each task of a segment: one if segments are split over all workers, the number of
// stages in a pipeline. Twice as many, so that a task waits when one ends, and two for what is in
// flight from and to the coordinator.
size_t window_of(const plan::Plan& plan) {
  constexpr size_t kMost = 48;
  size_t tasks = 0;
  for (const plan::Segment& segment : plan.segments) tasks += segment.tasks.size();
  if (tasks == 0) return kMost;
  const size_t at_once = (plan::workers_of(plan).size() * plan.segments.size() + tasks - 1) / tasks;
  return std::min(kMost, 2 * at_once + 2);
}

// A moving average over the last eight or so: soon right after the load has changed, and not moved
// far by one straggler.
void AttemptWindow::learn(Duration took) {
  constexpr int kWeight = 8;
  usual_ = usual_.count() == 0 ? took : usual_ + (took - usual_) / kWeight;
}

// Little's law: while the window is full, `limit_` attempts end in the time that one takes.
AttemptWindow::Duration AttemptWindow::until_begin(size_t attempts) const {
  constexpr std::chrono::milliseconds kGuess{10};
  const Duration one = usual_.count() == 0 ? Duration(kGuess) : usual_;
  return one * static_cast<int64_t>(attempts) / static_cast<int64_t>(limit_);
}

}  // namespace shoal::cluster
