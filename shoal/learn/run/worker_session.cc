#include "shoal/learn/run/worker_session.h"

#include "shoal/base/overloaded.h"

namespace shoal::learn {
namespace {

Status out_of_step() { return Status(Code::kCorrupt, "the hub is in another step"); }

}  // namespace

Status WorkerSession::handle(const ToWorker& message) {
  return std::visit(Overloaded{[&](const StateMessage& m) { return take_state(m); },
                               [&](const AssignMessage& m) { return assign(m); },
                               [&](const PullMessage& m) { return pull(m); },
                               [&](const LateMessage& m) { return carry(m); },
                               [&](const GoodbyeMessage&) {
                                 over_ = true;
                                 task_.reset();
                                 return Status();
                               }},
                    message);
}

// What was being computed came from other weights, and is dropped.
Status WorkerSession::take_state(const StateMessage& message) {
  task_.reset();
  replica_.abandon();
  SHOAL_TRY(replica_.trainer().restore(message.state));
  step_ = message.step;
  messages_.emplace_back(SyncedMessage{message.step});
  return {};
}

Status WorkerSession::assign(const AssignMessage& message) {
  const bool is_range =
      message.first >= 0 && message.first < message.end && message.end <= replica_.micro_batches();
  if (step_ != message.step || task_ || !is_range) return out_of_step();
  task_ = Task{message, message.first};
  return {};
}

Status WorkerSession::work() {
  SHOAL_CHECK(task_.has_value());
  SHOAL_ASSIGN(const MicroBatch batch, source_(task_->range.step, task_->next));
  SHOAL_TRY(replica_.compute(task_->next, batch.inputs, batch.targets));
  if (++task_->next < task_->range.end) return {};
  SHOAL_ASSIGN(Contribution contribution, replica_.push());
  pushed_ = PushMessage{task_->range.step, std::move(contribution)};
  task_.reset();
  messages_.emplace_back(*pushed_);
  return {};
}

// One that comes before the state belongs to a step that the state has in it.
Status WorkerSession::pull(const PullMessage& message) {
  if (!step_) return {};
  if (step_ != message.step) return out_of_step();
  const int64_t done = task_ ? task_->next - task_->range.first : 0;
  SHOAL_TRY(replica_.carry_unsent());
  task_.reset();
  SHOAL_ASSIGN(const uint64_t hash, replica_.pull(message.merged, message.rate_factor));
  ++*step_;
  messages_.emplace_back(AppliedMessage{message.step, hash, done});
  return {};
}

Status WorkerSession::carry(const LateMessage& message) {
  if (!pushed_ || pushed_->step != message.step) return out_of_step();
  const std::optional<PushMessage> late = std::exchange(pushed_, std::nullopt);
  return replica_.carry(late->contribution);
}

}  // namespace shoal::learn
