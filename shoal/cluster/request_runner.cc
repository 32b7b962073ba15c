// The imperative shell around Requests. Each request is driven by its caller's thread: it waits for
// the next step under the lock and carries it out without the lock, because sending may block for
// as long as a peer is slow. Reader threads only record events and notify.
#include "shoal/cluster/request_runner.h"

#include <algorithm>

#include "messages.pb.h"
#include "shoal/cluster/message_io.h"
#include "shoal/plan/cost/plan_stats.h"

namespace shoal::cluster {
namespace {

// The waker keeps radios awake while it lives.
class Waiting {
 public:
  explicit Waiting(Waker& waker) : waker_(waker) { waker_.begin(); }
  ~Waiting() { waker_.end(); }
  Waiting(const Waiting&) = delete;
  Waiting& operator=(const Waiting&) = delete;

 private:
  Waker& waker_;
};

}  // namespace

RequestRunner::RequestRunner(WorkerLinks& links, std::function<void(FaultPoint, int)> reached)
    : links_(links), reached_(std::move(reached)), waker_([this](int worker) {
        message::Message message;
        message.mutable_awake();
        static_cast<void>(links_.send(worker, message, {}, true));  // its reader notices a loss
      }) {}

Status RequestRunner::run(uint64_t service, std::span<const Tensor> inputs,
                          std::span<Tensor> outputs, std::chrono::milliseconds timeout,
                          plan::Timeline* measured, const std::stop_token& cancel) {
  const Waiting waiting(waker_);
  const net::Deadline deadline = net::after(timeout);
  const uint64_t request = submit(service, inputs, deadline);
  // The callback takes the lock, so it is neither made nor destroyed under it: both may wait for a
  // running callback.
  const std::stop_callback on_cancel(cancel, [this, request] { this->cancel(request); });
  RequestOutcome outcome = carry_out(request, inputs, deadline, measured != nullptr);
  Status status = described(outcome);
  if (status.ok() && measured != nullptr) {
    status = await_times(outcome.attempt, deadline, *measured);
  }
  if (status.ok()) std::ranges::move(outcome.outputs, outputs.begin());
  const std::lock_guard lock(mutex_);
  measurements_.erase(outcome.attempt.id);
  return status;
}

uint64_t RequestRunner::submit(uint64_t service, std::span<const Tensor> inputs,
                               net::Deadline deadline) {
  const std::lock_guard lock(mutex_);
  return requests_.submit(service, inputs, deadline);
}

void RequestRunner::cancel(uint64_t request) {
  const std::lock_guard lock(mutex_);
  requests_.cancel(request);
  changed_.notify_all();
}

RequestOutcome RequestRunner::carry_out(uint64_t request, std::span<const Tensor> inputs,
                                        net::Deadline deadline, bool is_measured) {
  for (;;) {
    RequestStep step = next_step(request, deadline, is_measured);
    // Before the next attempt begins: its workers should not compute for the one that is given up.
    if (step.abandon) forget(*step.abandon);
    if (step.begin && !step.end) {
      if (reached_) reached_(FaultPoint::kSubmitted, plan::kCoordinator);
      begin(*step.begin, step.sends, inputs);
    }
    if (step.end) return *std::move(step.end);
  }
}

// Waits for the next step of the request, or for its deadline, and does the runner's own
// bookkeeping.
RequestStep RequestRunner::next_step(uint64_t request, net::Deadline deadline, bool is_measured) {
  std::unique_lock lock(mutex_);
  if (!changed_.wait_until(lock, deadline, [&] { return requests_.has_step(request); })) {
    requests_.expire(deadline);
  }
  RequestStep step = requests_.step(request);
  // A measured request lets its workers finish, although the answer is there: their times are
  // wanted.
  const bool goes_on = is_measured && step.end && step.end->status.ok();
  if (goes_on) step.abandon.reset();
  if (step.abandon) measurements_.erase(step.abandon->id);
  if (step.begin && is_measured) measure(*step.begin);
  if (!step.end) return step;
  ++(step.end->status.ok() ? tally_.answered : tally_.failed);
  if (step.end->replayed) ++tally_.replayed;
  return step;
}

void RequestRunner::measure(const Attempt& attempt) {
  Measurement& times =
      measurements_
          .try_emplace(attempt.id, attempt.deployed->scheduled, static_cast<int>(links_.size()))
          .first->second;
  for (int worker : gone_) times.excuse(worker);
}

// In a plan that survives losses, the caller must not wait for a worker that is slow to take its
// inputs: those are sent by the link's own thread, from a copy, because the caller's tensors may be
// gone by then. Otherwise the caller's thread sends them, which bounds the memory in flight
// (backpressure).
void RequestRunner::begin(const Attempt& attempt, const std::vector<size_t>& sends,
                          std::span<const Tensor> inputs) {
  const plan::ScheduledPlan& plan = attempt.deployed->scheduled;
  const bool waits = plan.plan().survives == 0;
  std::map<ValueId, Tensor> whole;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Tensor& tensor = inputs[i];
    whole[plan.graph().inputs()[i]] = waits ? tensor : crop(tensor, Region::whole(tensor.shape()));
  }
  for (size_t i : sends) {
    const plan::Transfer& transfer = plan.schedule().transfers[i];
    const auto& [value, region] = transfer.piece;
    const Tensor& tensor = whole[value];
    Tensor part = region == Region::whole(tensor.shape()) ? tensor : crop(tensor, region);
    const WorkerLinkPtr link = links_.link(transfer.to);
    if (link == nullptr) continue;  // the coordinator is closing
    if (waits) {
      send_input(*link, attempt, i, part);
    } else {
      link->sender().post([this, to = link.get(), attempt, i, part = std::move(part)] {
        send_input(*to, attempt, i, part);
      });
    }
  }
}

void RequestRunner::send_input(WorkerLink& link, const Attempt& attempt, size_t transfer,
                               const Tensor& elements) {
  const plan::Transfer& what = attempt.deployed->scheduled.schedule().transfers[transfer];
  if (!may_send(attempt.id, transfer, what.to)) return;
  const Status sent =
      send_piece(link.channel(), attempt.deployed->id, attempt.id, what.piece, elements)
          .at("worker " + links_.name(what.to));
  if (sent.ok()) return;
  note_unsent(attempt.id);
  // The reader of this link would notice as well, but perhaps only after the next request has been
  // sent.
  if (sent.code() == Code::kUnavailable) return links_.lose(what.to, link, sent);
  const std::lock_guard lock(mutex_);
  requests_.fail(what.to, attempt.id, sent);
  changed_.notify_all();
}

bool RequestRunner::may_send(uint64_t attempt, size_t transfer, int worker) {
  const std::lock_guard lock(mutex_);
  const auto measurement = measurements_.find(attempt);
  const bool is_timed = measurement != measurements_.end();  // until all have said their times
  if (!(requests_.knows(attempt) || is_timed) || gone_.contains(worker)) return false;
  if (is_timed) measurement->second.sending(transfer);
  return true;
}

void RequestRunner::note_unsent(uint64_t attempt) {
  const std::lock_guard lock(mutex_);
  if (requests_.is_replay(attempt)) ++tally_.resent_to_dead;
}

// Tells the workers to drop all that they hold of an attempt. Errors do not matter: a lost worker
// holds nothing.
void RequestRunner::forget(const Attempt& attempt) {
  message::Message message;
  message.mutable_forget()->set_plan(attempt.deployed->id);
  message.mutable_forget()->set_request(attempt.id);
  for (int worker : plan::workers_of(attempt.deployed->scheduled.plan())) {
    static_cast<void>(links_.send(worker, message));
  }
}

Status RequestRunner::await_times(const Attempt& attempt, net::Deadline deadline,
                                  plan::Timeline& measured) {
  std::unique_lock lock(mutex_);
  const Measurement& measurement = measurements_.at(attempt.id);
  const auto usable = [&] { return requests_.usable(attempt.deployed->id); };
  const bool over =
      changed_.wait_until(lock, deadline, [&] { return measurement.complete() || !usable().ok(); });
  if (!over) return Status(Code::kDeadline, "workers do not say how long it took them");
  // The answer is there all the same where the plan broke, or was replaced, meanwhile.
  if (measurement.complete()) measured = measurement.timeline();
  return {};
}

Status RequestRunner::described(const RequestOutcome& outcome) const {
  if (outcome.awaited.empty()) return outcome.status;
  std::string names;
  for (int worker : outcome.awaited) {
    names += (names.empty() ? " from " : ", ") + links_.name(worker);
  }
  return Status(outcome.status.code(), std::string(outcome.status.message()) + names);
}

Tally RequestRunner::tally() const {
  const std::lock_guard lock(mutex_);
  return tally_;
}

void RequestRunner::add(DeployedPlanPtr deployed) {
  const std::lock_guard lock(mutex_);
  requests_.add(std::move(deployed));
}

void RequestRunner::remove(uint64_t plan) {
  const std::lock_guard lock(mutex_);
  // A plan is also a service of its own, under the same number (PlanDeployer::deploy).
  requests_.offer(plan, {});
  requests_.remove(plan);
  changed_.notify_all();
}

void RequestRunner::offer(uint64_t service, std::vector<uint64_t> plans, bool mended) {
  const std::lock_guard lock(mutex_);
  requests_.offer(service, std::move(plans), mended);
  changed_.notify_all();
}

void RequestRunner::give_up(uint64_t service, const Status& why) {
  const std::lock_guard lock(mutex_);
  requests_.give_up(service, why);
  changed_.notify_all();
}

void RequestRunner::restore(uint64_t plan, int worker) {
  const std::lock_guard lock(mutex_);
  requests_.restore(plan, worker);
  changed_.notify_all();
}

bool RequestRunner::is_whole(uint64_t plan) const {
  const std::lock_guard lock(mutex_);
  return requests_.is_whole(plan);
}

bool RequestRunner::in_use(uint64_t plan) const {
  const std::lock_guard lock(mutex_);
  return requests_.in_use(plan);
}

std::vector<int> RequestRunner::having(uint64_t plan) const {
  const std::lock_guard lock(mutex_);
  return requests_.having(plan);
}

std::vector<int> RequestRunner::missing(uint64_t plan) const {
  const std::lock_guard lock(mutex_);
  return requests_.missing(plan);
}

void RequestRunner::watch(const void* who, std::function<void()> watcher) {
  const std::lock_guard lock(mutex_);
  watchers_.erase(who);
  if (watcher) watchers_[who] = std::move(watcher);
}

// REQUIRES: mutex_ is held. This is why watchers must not call the runner.
void RequestRunner::tell_watchers() const {
  for (const auto& [who, watcher] : watchers_) watcher();
}

Status RequestRunner::take(int worker, const message::Data& data, const net::Frame& frame) {
  if (reached_) reached_(FaultPoint::kAnswerArrives, worker);
  SHOAL_ASSIGN(const plan::Piece piece, decode(data.piece()));
  const std::lock_guard lock(mutex_);
  // The plan decides the type and shape of a piece, never the message.
  SHOAL_ASSIGN(const auto type, requests_.expect(worker, data.request(), piece));
  if (!type) return {};  // the request is over
  SHOAL_ASSIGN(const Tensor elements, to_tensor(frame, type->dtype, type->shape));
  requests_.arrive(data.request(), piece, elements);
  changed_.notify_all();
  const auto measurement = measurements_.find(data.request());
  if (measurement == measurements_.end()) return {};
  measurement->second.received(piece, worker);
  if (!requests_.knows(data.request())) measurement->second.answered();
  return {};
}

Status RequestRunner::take_times(int worker, const message::Traced& traced) {
  const int64_t ahead = links_.info(worker).clock_ahead.value_or(0);
  const std::lock_guard lock(mutex_);
  const auto measurement = measurements_.find(traced.request());
  if (measurement == measurements_.end()) return {};
  SHOAL_TRY(measurement->second.add(worker, traced, ahead));
  changed_.notify_all();
  return {};
}

void RequestRunner::take_failure(int worker, const message::Failed& failed) {
  const Status status = status_of(failed).at("worker " + links_.name(worker));
  // The number comes from a peer and may name a worker that does not exist.
  const bool named = failed.unreached() > 0 && failed.unreached() <= links_.size();
  const std::lock_guard lock(mutex_);
  requests_.fail(worker, failed.request(), status,
                 named ? static_cast<int>(failed.unreached()) - 1 : -1);
  if (status.code() == Code::kUnavailable) tell_watchers();
  changed_.notify_all();
}

void RequestRunner::take_cut(int worker, const message::Cut& cut) {
  const std::vector<WorkerInfo> infos = links_.infos();
  const auto from = std::ranges::find(infos, cut.from(), &WorkerInfo::name);
  // A name that this coordinator does not know: a worker of another one.
  if (from == infos.end()) return;
  const std::string& hears = infos[static_cast<size_t>(worker)].name;
  const std::lock_guard lock(mutex_);
  requests_.cut_off(cut.plan(), static_cast<int>(from - infos.begin()), worker,
                    Status(Code::kUnavailable,
                           "worker " + hears + " hears nothing of " + from->name + " any more"));
  tell_watchers();
  changed_.notify_all();
}

void RequestRunner::lose(int worker, const Status& why) {
  const std::lock_guard lock(mutex_);
  gone_.insert(worker);
  requests_.lose(worker, why);
  for (auto& [attempt, measurement] : measurements_) measurement.excuse(worker);
  changed_.notify_all();
  tell_watchers();
}

void RequestRunner::revive(int worker) {
  const std::lock_guard lock(mutex_);
  gone_.erase(worker);
}

}  // namespace shoal::cluster
