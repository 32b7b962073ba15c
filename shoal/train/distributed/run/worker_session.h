// WorkerSession: a worker's part of a training run, between messages. No I/O: the channel's owner
// passes messages in and sends those that come out.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <vector>

#include "shoal/train/distributed/exchange/replica.h"
#include "shoal/train/distributed/run/hub_messages.h"

namespace shoal::learn {

struct MicroBatch {
  Tensor inputs;
  std::vector<Tensor> targets;
};

// Not thread-safe.
class WorkerSession {
 public:
  // The examples of a micro-batch of a step; a function of the two numbers alone.
  using Source = std::function<Result<MicroBatch>(int64_t step, int64_t number)>;

  WorkerSession(Replica replica, Source source)
      : replica_(std::move(replica)), source_(std::move(source)) {}

  // A message of the hub. A failure ends the session: kCorrupt if the hub breaks the protocol.
  Status handle(const ToWorker& message);
  // Whether there is a micro-batch to compute; work() computes one. Handle messages between two of
  // them, so that a step that ended without this worker is noticed.
  bool has_work() const { return task_.has_value(); }
  Status work();

  // Messages for the hub, in order.
  std::vector<ToHub> take_messages() { return std::exchange(messages_, {}); }
  bool is_over() const { return over_; }
  const Replica& replica() const { return replica_; }

 private:
  Status take_state(const StateMessage& message);
  Status assign(const AssignMessage& message);
  Status pull(const PullMessage& message);
  Status carry(const LateMessage& message);
  Status save(const SaveMessage& message);

  struct Task {
    AssignMessage range;
    int64_t next = 0;   // micro-batch
    int64_t local = 0;  // completed steps
  };

  static int64_t done_of(const Task& task);

  Replica replica_;
  Source source_;
  std::optional<int64_t> step_;  // nullopt before the state has come
  std::optional<Task> task_;
  std::map<int64_t, Contribution> pushed_;  // by step: the last ones, which may be late
  std::vector<ToHub> messages_;
  bool over_ = false;
};

}  // namespace shoal::learn
