#include "shoal/learn/run/worker_session.h"

#include "shoal/base/overloaded.h"

namespace shoal::learn {
namespace {

// A hub asks for nothing more while two may still be late (Hub).
constexpr size_t kMostPushed = 2;

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
  SHOAL_TRY(replica_.trainer().restore(message.state));
  if (!message.codec.empty()) SHOAL_TRY(replica_.codec().gradients().restore(message.codec));
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
  const int64_t step = std::exchange(task_, std::nullopt)->range.step;
  SHOAL_ASSIGN(pushed_[step], replica_.push());
  messages_.emplace_back(PushMessage{step, pushed_[step]});
  if (pushed_.size() > kMostPushed) pushed_.erase(pushed_.begin());
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
