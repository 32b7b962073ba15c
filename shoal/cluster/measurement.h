// Measurement: the times of one request, on all its machines, brought to the coordinator's clock.
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

class Measurement {
 public:
  using Time = std::chrono::steady_clock::time_point;

  // Of a request that begins now.
  Measurement(const plan::Plan& plan, const plan::Schedule& schedule, int workers);

  // The coordinator's own doing; transfers by their number in the schedule.
  void sending(size_t transfer) { timeline_.transfers[transfer].begin = now(); }
  void received(const plan::Piece& piece, int from);
  void answered() { timeline_.seconds = now(); }

  // What a worker says, whose clock is so many nanoseconds ahead. kCorrupt if it is not of this
  // plan.
  Status add(int worker, const message::Traced& traced, int64_t ahead);
  void excuse(int worker);                         // it is gone, and need not speak
  bool complete() const { return missing_ == 0; }  // all workers have spoken

  // In seconds after the beginning. Transfers last until they have arrived; transfer_seconds are
  // those in which something was on its way to or from a worker.
  plan::Timeline timeline() const;

 private:
  struct TaskAt {
    size_t segment, task;
  };

  double now() const;
  Status set(bool arrived, int worker, const plan::Piece& piece, int peer, double at);

  const plan::Schedule& schedule_;
  const Time begin_;
  std::vector<std::vector<TaskAt>> tasks_;  // by worker, in the order it has them
  std::vector<bool> spoken_;
  size_t missing_ = 0;
  plan::Timeline timeline_;
};

}  // namespace shoal::cluster
