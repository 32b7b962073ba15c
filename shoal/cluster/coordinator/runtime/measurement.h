// Measurement: the times of one request on all its machines, on the coordinator's clock.
#pragma once

#include <chrono>
#include <cstdint>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/plan/cost/simulate.h"

namespace shoal::cluster {

namespace message {
class Traced;
}

// Not thread-safe: RequestRunner guards it.
class Measurement {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // The request begins now.
  Measurement(plan::ScheduledPlan scheduled, int workers);

  // Events on the coordinator itself. Transfers are identified by their number in the schedule.
  void sending(size_t transfer) { timeline_.transfers[transfer].begin = now(); }
  void received(const plan::Piece& piece, int from);
  void answered() { timeline_.seconds = now(); }

  // Adds the times of a worker whose clock is ahead by this many nanoseconds. kCorrupt if they are
  // not times of this plan.
  Status add(int worker, const message::Traced& traced, int64_t ahead);
  void excuse(int worker);                         // it is lost: its times will not come
  bool complete() const { return missing_ == 0; }  // the times of all workers are there

  // Seconds since the beginning. A transfer lasts until it has arrived; transfer_seconds is the
  // time during which anything was in flight to or from a worker.
  plan::Timeline timeline() const;

 private:
  struct TaskAt {
    size_t segment, task;
  };

  double now() const;
  Status set(bool arrived, int worker, const plan::Piece& piece, int peer, double at);

  const plan::ScheduledPlan scheduled_;
  const Time begin_;
  std::vector<std::vector<TaskAt>> tasks_;  // by worker, in the order it has them
  std::vector<bool> spoken_;
  size_t missing_ = 0;
  plan::Timeline timeline_;
};

}  // namespace shoal::cluster
