#include <algorithm>
#include <set>

#include "messages.pb.h"
#include "shoal/cluster/coordinator.h"
#include "shoal/cluster/message_io.h"

namespace shoal::cluster {

RemotePlan::~RemotePlan() {
  {
    const std::lock_guard lock(coordinator_.mutex_);
    coordinator_.requests_.offer(deployed_->id, {});
    coordinator_.requests_.remove(deployed_->id);
    coordinator_.changed_.notify_all();
  }
  message::Message release;
  release.mutable_release()->set_plan(deployed_->id);
  for (int worker : workers_) {
    // Who is gone has released it already.
    static_cast<void>(coordinator_.send_to(worker, release));
  }
}

Status RemotePlan::run(std::span<const Tensor> inputs, std::span<Tensor> outputs,
                       std::chrono::milliseconds timeout, plan::Timeline* measured) {
  return coordinator_.run(deployed_->id, inputs, outputs, timeout, measured);
}

bool RemotePlan::is_whole() const {
  const std::lock_guard lock(coordinator_.mutex_);
  return coordinator_.requests_.is_whole(deployed_->id);
}

Status RemotePlan::restore() {
  std::vector<int> missing;
  {
    const std::lock_guard lock(coordinator_.mutex_);
    missing = coordinator_.requests_.missing(deployed_->id);
  }
  for (int worker : missing) {
    SHOAL_TRY(coordinator_.restore(deployed_->id, traced_, *encoded_, worker));
  }
  return {};
}

bool RemotePlan::in_use() const {
  const std::lock_guard lock(coordinator_.mutex_);
  return coordinator_.requests_.in_use(deployed_->id);
}

void Coordinator::offer(uint64_t service, std::vector<uint64_t> plans, bool mended) {
  const std::lock_guard lock(mutex_);
  requests_.offer(service, std::move(plans), mended);
  changed_.notify_all();
}

void Coordinator::give_up(uint64_t service, const Status& why) {
  const std::lock_guard lock(mutex_);
  requests_.give_up(service, why);
  changed_.notify_all();
}

Status Coordinator::run(uint64_t service, std::span<const Tensor> inputs, std::span<Tensor> outputs,
                        std::chrono::milliseconds timeout, plan::Timeline* measured) {
  waker_->begin();
  const net::Deadline deadline = net::after(timeout);
  std::unique_lock lock(mutex_);
  const uint64_t request = requests_.submit(service, inputs, deadline);
  std::optional<Outcome> outcome;
  while (!outcome) {
    if (!changed_.wait_until(lock, deadline, [&] { return requests_.has_step(request); })) {
      requests_.expire(deadline);
    }
    Step step = requests_.step(request);
    if (step.begin && measured != nullptr) {
      const DeployedPlan& deployed = *step.begin->deployed;
      auto& times = measurements_
                        .try_emplace(step.begin->id, deployed.plan, deployed.schedule,
                                     static_cast<int>(infos_.size()))
                        .first->second;
      for (size_t w = 0; w < lost_.size(); ++w) {
        if (!lost_[w].ok()) times.excuse(static_cast<int>(w));
      }
    }
    lock.unlock();
    // Who is to say how long it took goes on to the end.
    const bool is_timed = measured != nullptr && step.end && step.end->status.ok();
    if (step.abandon && !is_timed) forget(*step.abandon);
    if (step.begin && !step.end) {
      if (options_.reached) options_.reached(FaultPoint::kSubmitted, plan::kCoordinator);
      begin(*step.begin, step.sends, inputs);
    }
    lock.lock();
    outcome = std::move(step.end);
  }
  ++(outcome->status.ok() ? tally_.answered : tally_.failed);
  if (outcome->replayed) ++tally_.replayed;
  Status status = described(*outcome);
  if (status.ok() && measured != nullptr) {
    status = await_times(lock, outcome->attempt, deadline, *measured);
  }
  if (status.ok()) std::ranges::move(outcome->outputs, outputs.begin());
  measurements_.erase(outcome->attempt.id);
  waker_->end();
  return status;
}

// Where others can answer without a worker, nobody waits until it has taken its inputs; it gets
// them from a copy, for the caller's may be gone by then.
void Coordinator::begin(const Attempt& attempt, const std::vector<size_t>& sends,
                        std::span<const Tensor> inputs) {
  const DeployedPlan& deployed = *attempt.deployed;
  const bool waits = deployed.plan.survives == 0;
  std::map<ValueId, Tensor> whole;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Tensor& tensor = inputs[i];
    whole[deployed.graph.inputs()[i]] =
        waits ? tensor : crop(tensor, Region::whole(tensor.shape()));
  }
  for (size_t i : sends) {
    const auto& [value, region] = deployed.schedule.transfers[i].piece;
    const Tensor& tensor = whole[value];
    Tensor part = region == Region::whole(tensor.shape()) ? tensor : crop(tensor, region);
    const LinkPtr link = link_of(deployed.schedule.transfers[i].to);
    if (link == nullptr) continue;
    if (waits) {
      send_input(*link, attempt, i, part);
    } else {
      link->outbox->put([this, to = link.get(), attempt, i, part = std::move(part)] {
        send_input(*to, attempt, i, part);
      });
    }
  }
}

void Coordinator::send_input(Link& link, const Attempt& attempt, size_t transfer,
                             const Tensor& elements) {
  const plan::Transfer& what = attempt.deployed->schedule.transfers[transfer];
  const auto worker = static_cast<size_t>(what.to);
  if (!may_send(attempt.id, transfer, worker)) return;
  const Status sent =
      send_piece(*link.channel, attempt.deployed->id, attempt.id, what.piece, elements)
          .at("worker " + infos_[worker].name);
  if (sent.ok()) return;
  note_unsent(attempt.id);
  // Who listens to the worker would notice too, but perhaps not before the next request.
  if (sent.code() == Code::kUnavailable) return lose(worker, link, sent);
  const std::lock_guard lock(mutex_);
  requests_.fail(what.to, attempt.id, sent);
  changed_.notify_all();
}

bool Coordinator::may_send(uint64_t attempt, size_t transfer, size_t worker) {
  const std::lock_guard lock(mutex_);
  const auto measurement = measurements_.find(attempt);
  const bool is_timed = measurement != measurements_.end();  // until all have said their times
  if (!(requests_.knows(attempt) || is_timed) || !lost_[worker].ok()) return false;
  if (is_timed) measurement->second.sending(transfer);
  return true;
}

void Coordinator::note_unsent(uint64_t attempt) {
  const std::lock_guard lock(mutex_);
  if (requests_.is_replay(attempt)) ++tally_.resent_to_dead;
}

// What an attempt left behind on workers that are there is of no use any more.
void Coordinator::forget(const Attempt& attempt) {
  message::Message message;
  message.mutable_forget()->set_plan(attempt.deployed->id);
  message.mutable_forget()->set_request(attempt.id);
  for (int worker : plan::workers_of(attempt.deployed->plan)) {
    static_cast<void>(send_to(worker, message));
  }
}

Status Coordinator::await_times(std::unique_lock<std::mutex>& lock, const Attempt& attempt,
                                net::Deadline deadline, plan::Timeline& measured) {
  const Measurement& measurement = measurements_.at(attempt.id);
  const auto usable = [&] { return requests_.usable(attempt.deployed->id); };
  const bool over =
      changed_.wait_until(lock, deadline, [&] { return measurement.complete() || !usable().ok(); });
  if (!over) return Status(Code::kDeadline, "workers do not say how long it took them");
  if (!measurement.complete()) return usable();
  measured = measurement.timeline();
  return {};
}

Status Coordinator::described(const Outcome& outcome) const {
  if (outcome.awaited.empty()) return outcome.status;
  std::string names;
  for (int worker : outcome.awaited) {
    names += (names.empty() ? " from " : ", ") + infos_[static_cast<size_t>(worker)].name;
  }
  return Status(outcome.status.code(), std::string(outcome.status.message()) + names);
}

}  // namespace shoal::cluster
