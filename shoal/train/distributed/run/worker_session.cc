#include "shoal/train/distributed/run/worker_session.h"

#include <limits>

#include "shoal/base/overloaded.h"

namespace shoal::learn {
namespace {

// A hub asks for nothing more while two may still be late (Hub).
constexpr size_t kMostPushed = 2;
constexpr int64_t kMostLocalSteps = int64_t{1} << 20;

Status out_of_step() { return Status(Code::kCorrupt, "the hub is in another step"); }

}  // namespace

Status WorkerSession::handle(const ToWorker& message) {
  return std::visit(Overloaded{[&](const StateMessage& m) { return take_state(m); },
                               [&](const AssignMessage& m) { return assign(m); },
                               [&](const PullMessage& m) { return pull(m); },
                               [&](const LateMessage& m) { return carry(m); },
                               [&](const SaveMessage& m) { return save(m); },
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
  SHOAL_TRY(replica_.restore(message.state));
  if (!message.codec.empty()) SHOAL_TRY(replica_.codec().gradients().restore(message.codec));
  step_ = message.step;
  messages_.emplace_back(SyncedMessage{message.step});
  return {};
}

Status WorkerSession::assign(const AssignMessage& message) {
  const bool is_range =
      message.first >= 0 && message.first < message.end && message.end <= replica_.micro_batches();
  const bool is_possible = message.local_steps >= 1 && message.local_steps <= kMostLocalSteps &&
                           message.step <= std::numeric_limits<int64_t>::max() / kMostLocalSteps;
  if (step_ != message.step || task_ || !is_range || !is_possible) return out_of_step();
  task_ = Task{message, message.first};
  replica_.begin_step(message.statistics);
  return {};
}

Status WorkerSession::work() {
  SHOAL_CHECK(task_.has_value());
  const AssignMessage& range = task_->range;
  const bool is_local = range.local_steps > 1;
  const int64_t number = range.step * range.local_steps + task_->local;
  SHOAL_ASSIGN(const MicroBatch batch, source_(number, task_->next));
  SHOAL_TRY(replica_.compute(task_->next, batch.inputs, batch.targets, is_local ? number : 0));
  if (++task_->next < range.end) return {};
  if (is_local) {
    SHOAL_TRY(replica_.step_locally(range.rate_factor));
    task_->next = range.first;
    if (++task_->local < range.local_steps) return {};
  }
  const int64_t step = std::exchange(task_, std::nullopt)->range.step;
  SHOAL_ASSIGN(pushed_[step], replica_.push());
  messages_.emplace_back(PushMessage{step, pushed_[step]});
  if (pushed_.size() > kMostPushed) pushed_.erase(pushed_.begin());
  return {};
}

// Micro-batches; every local step computes each of them.
int64_t WorkerSession::done_of(const Task& task) {
  const AssignMessage& range = task.range;
  const int64_t all = task.local * (range.end - range.first) + task.next - range.first;
  return all / range.local_steps;
}

// One that comes before the state belongs to a step that the state has in it.
Status WorkerSession::pull(const PullMessage& message) {
  if (!step_) return {};
  if (step_ != message.step) return out_of_step();
  const int64_t done = task_ ? done_of(*task_) : 0;
  SHOAL_TRY(replica_.carry_unsent(task_ && task_->range.local_steps > 1));
  task_.reset();
  SHOAL_ASSIGN(const uint64_t hash, replica_.pull(message.merged, message.rate_factor,
                                                  message.outer, message.statistics));
  ++*step_;
  const double carried = replica_.codec().gradients().carried_norm();
  messages_.emplace_back(AppliedMessage{message.step, hash, done, carried});
  return {};
}

// Copied: the next micro-batches change the codec before the message is sent.
Status WorkerSession::save(const SaveMessage& message) {
  if (!step_) return {};
  if (step_ != message.step || task_) return out_of_step();
  SavedMessage saved{message.step};
  for (const auto& [name, tensor] : replica_.codec().gradients().state()) {
    saved.codec[name] = tensor.clone();
  }
  messages_.emplace_back(std::move(saved));
  return {};
}

Status WorkerSession::carry(const LateMessage& message) {
  const auto late = pushed_.extract(message.step);
  return late.empty() ? out_of_step() : replica_.carry(late.mapped());
}

}  // namespace shoal::learn
