// Runs Requests. Each request is driven by its caller's thread: it waits for the next step under
// the lock and carries it out without the lock, because sending may block until the deadline of the
// request. Reader threads only record events and notify. Every caller has its own condition
// variable: with hundreds of callers, waking all for every piece would take longer than the pieces
// do.
#include "shoal/cluster/coordinator/runtime/request_runner.h"

#include <algorithm>

#include "messages.pb.h"
#include "shoal/cluster/messages/message_io.h"
#include "shoal/plan/coding/coded_product.h"
#include "shoal/plan/cost/plan_stats.h"
#include "shoal/plan/search/wire_format.h"

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

// An event for the decider: holds the lock, tells the time and, at the end, wakes the callers that
// have something to do because of it.
class RequestRunner::Event {
 public:
  explicit Event(RequestRunner& runner) : runner_(runner), lock_(runner.mutex_) {
    runner_.requests_.set_time(std::chrono::steady_clock::now());
  }
  ~Event() { runner_.wake(); }
  Event(const Event&) = delete;
  Event& operator=(const Event&) = delete;

 private:
  RequestRunner& runner_;
  const std::lock_guard<std::mutex> lock_;
};

RequestRunner::RequestRunner(WorkerLinks& links, std::function<void(FaultPoint, int)> reached)
    : links_(links), reached_(std::move(reached)), waker_([this](int worker) {
        message::Message message;
        message.mutable_awake();
        static_cast<void>(links_.send(worker, message, {}, true));  // its reader notices a loss
      }) {}

std::shared_ptr<void> RequestRunner::stay_awake() { return std::make_shared<Waiting>(waker_); }

Status RequestRunner::run(uint64_t service, std::span<const Tensor> inputs,
                          std::span<Tensor> outputs, const RequestOptions& options) {
  const Waiting waiting(waker_);
  const net::Deadline deadline = net::after(options.timeout);
  const uint64_t request = submit(service, inputs, deadline, options.client);
  // The callback takes the lock, so it is neither made nor destroyed under it: both may wait for a
  // running callback.
  const std::stop_callback on_cancel(options.cancel, [this, request] { this->cancel(request); });
  RequestOutcome outcome = carry_out(request, inputs, deadline, options.measured != nullptr);
  if (options.retry_after != nullptr) *options.retry_after = outcome.retry_after;
  Status status = described(outcome);
  if (status.ok() && options.measured != nullptr) {
    status = await_times(outcome.attempt, deadline, *options.measured);
  }
  if (status.ok()) std::ranges::move(outcome.outputs, outputs.begin());
  if (options.measured == nullptr) return status;
  const std::lock_guard lock(mutex_);
  measurements_.erase(outcome.attempt.id);
  return status;
}

uint64_t RequestRunner::submit(uint64_t service, std::span<const Tensor> inputs,
                               net::Deadline deadline, uint64_t client) {
  const Event event(*this);
  return requests_.submit(service, inputs, deadline, client);
}

void RequestRunner::cancel(uint64_t request) {
  const Event event(*this);
  requests_.cancel(request);
}

// REQUIRES: mutex_ is held.
void RequestRunner::wake() {
  for (const auto& [request, caller] : waiting_) {
    if (requests_.has_step(request)) caller->notify_one();
  }
  changed_.notify_all();
}

RequestOutcome RequestRunner::carry_out(uint64_t request, std::span<const Tensor> inputs,
                                        net::Deadline deadline, bool is_measured) {
  for (;;) {
    RequestStep step = next_step(request, deadline, is_measured);
    if (step.end && is_checking_) check_if_drawn(step, inputs);
    // Before the next attempt begins: its workers should not compute for the one that is given up.
    if (step.abandon) forget(*step.abandon);
    if (step.begin && !step.end) {
      if (reached_) reached_(FaultPoint::kSubmitted, plan::kCoordinator);
      begin(*step.begin, step.sends, inputs, deadline);
    }
    if (step.end) return *std::move(step.end);
  }
}

// Waits for the next step of the request, or for its deadline, and does the runner's own
// bookkeeping.
RequestStep RequestRunner::next_step(uint64_t request, net::Deadline deadline, bool is_measured) {
  std::condition_variable woken;
  std::unique_lock lock(mutex_);
  waiting_[request] = &woken;
  if (!woken.wait_until(lock, deadline, [&] { return requests_.has_step(request); })) {
    requests_.expire(std::chrono::steady_clock::now());
    wake();  // others may fit the window now
  }
  waiting_.erase(request);
  RequestStep step = requests_.step(request);
  // A measured request lets its workers finish after the answer: their times are needed.
  const bool goes_on = is_measured && step.end && step.end->status.ok();
  if (goes_on) step.abandon.reset();
  if (step.abandon) measurements_.erase(step.abandon->id);
  if (step.abandon && !step.end) checks_.drop(step.abandon->id);
  if (step.begin) checks_.watch(*step.begin);
  if (step.begin && is_measured) measure(*step.begin);
  if (!step.end) return step;
  const Code code = step.end->status.code();
  ++(code == Code::kOk          ? tally_.answered
     : code == Code::kExhausted ? tally_.refused
                                : tally_.failed);
  if (step.end->replayed) ++tally_.replayed;
  return step;
}

// Decides whether a request that has just ended is checked. If so, its workers go on instead of
// forgetting it, and compare what they were sent. Only what no worker was lost from is checked: all
// copies must come.
void RequestRunner::check_if_drawn(RequestStep& step, std::span<const Tensor> inputs) {
  std::vector<Attempt> expired;
  const Attempt& attempt = step.end->attempt;
  bool is_drawn = false;
  {
    const auto now = std::chrono::steady_clock::now();
    const std::lock_guard lock(mutex_);
    expired = checks_.expire(now);
    if (!expired.empty()) tell_watchers();
    const bool can = step.abandon && step.end->status.ok() && !step.end->replayed &&
                     requests_.has_plan(attempt.deployed->id) &&
                     requests_.is_whole(attempt.deployed->id);
    is_drawn = can && checks_.begin(attempt, inputs, now);
    if (!can) checks_.drop(attempt.id);
    if (!can && step.abandon) checks_.drop(step.abandon->id);
  }
  for (const Attempt& one : expired) forget(one);
  if (!is_drawn) return;
  step.abandon.reset();
  ask_to_check(attempt);
}

void RequestRunner::ask_to_check(const Attempt& attempt) const {
  const plan::ScheduledPlan& scheduled = attempt.deployed->scheduled;
  message::Message message;
  message::Check& check = *message.mutable_check();
  check.set_plan(attempt.deployed->id);
  check.set_request(attempt.id);
  check.set_tolerance(plan::rounding_bound(scheduled.graph()));
  for (int worker : plan::workers_of(scheduled.plan())) {
    check.set_pieces(static_cast<uint32_t>(pieces_of(scheduled, worker)));
    links_.post(worker, message);  // without waiting: the answer is complete
  }
}

void RequestRunner::measure(const Attempt& attempt) {
  Measurement& times =
      measurements_
          .try_emplace(attempt.id, attempt.deployed->scheduled, static_cast<int>(links_.size()))
          .first->second;
  for (int worker : gone_) times.excuse(worker);
}

// In a plan that survives losses, the caller must not wait for a worker that is slow to take its
// inputs: the link's own thread sends them, from a copy, because the caller's tensors may be gone
// by then. Otherwise the caller's thread sends them, until the deadline, which saves a change of
// threads.
void RequestRunner::begin(const Attempt& attempt, const std::vector<size_t>& sends,
                          std::span<const Tensor> inputs, net::Deadline deadline) {
  const plan::ScheduledPlan& plan = attempt.deployed->scheduled;
  const bool waits = plan.plan().survives == 0;
  std::map<ValueId, Tensor> whole;
  for (size_t i = 0; i < inputs.size(); ++i) {
    const Tensor tensor = plan::as_sent(plan.graph(), i, inputs[i]);
    whole[plan.graph().inputs()[i]] = waits ? tensor : crop(tensor, Region::whole(tensor.shape()));
  }
  for (size_t i : sends) {
    const plan::Transfer& transfer = plan.schedule().transfers[i];
    const auto& [value, region] = transfer.piece;
    const Tensor& tensor = whole[value];
    const Tensor part = region == Region::whole(tensor.shape()) ? tensor : crop(tensor, region);
    const WorkerLinkPtr link = links_.link(transfer.to);
    if (link == nullptr) continue;  // the coordinator is closing
    if (waits) {
      send_input(*link, attempt, i, part, deadline);
    } else {
      post_input(link, attempt, i, part, deadline);
    }
  }
}

// What a worker does not take is bounded in bytes. Inputs of attempts that are over give way first;
// if that is not enough, this attempt has to do without the worker.
void RequestRunner::post_input(const WorkerLinkPtr& link, const Attempt& attempt, size_t transfer,
                               const Tensor& elements, net::Deadline deadline) {
  const bool taken = link->sender().post(
      [this, to = link.get(), attempt, transfer, elements, deadline] {
        send_input(*to, attempt, transfer, elements, deadline);
      },
      elements.bytes().size(), [this, id = attempt.id] { return !is_wanted(id); });
  if (taken) return;
  const int worker = attempt.deployed->scheduled.schedule().transfers[transfer].to;
  const Status full =
      Status(Code::kExhausted, "does not take its inputs").at("worker " + links_.name(worker));
  const Event event(*this);
  requests_.fail(worker, attempt.id, full);
}

void RequestRunner::send_input(WorkerLink& link, const Attempt& attempt, size_t transfer,
                               const Tensor& elements, net::Deadline deadline) {
  const plan::Transfer& what = attempt.deployed->scheduled.schedule().transfers[transfer];
  if (!may_send(attempt.id, transfer, what.to)) return;
  const Status sent =
      send_piece(link.channel(), attempt.deployed->id, attempt.id, what.piece, elements, deadline)
          .at("worker " + links_.name(what.to));
  if (sent.ok()) return;
  note_unsent(attempt.id);
  // The reader of this link would notice, too, but perhaps only after the next request was sent.
  if (sent.code() == Code::kUnavailable) return links_.lose(what.to, link, sent);
  const Event event(*this);
  requests_.fail(what.to, attempt.id, sent);
}

bool RequestRunner::is_wanted(uint64_t attempt) const {
  const std::lock_guard lock(mutex_);
  return requests_.knows(attempt) || measurements_.contains(attempt);
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

// Tells the workers to drop an attempt, on the threads of the links: the request may be over
// already, and its caller does not wait. Errors do not matter: a lost worker holds nothing, and
// others drop it at the deadline.
void RequestRunner::forget(const Attempt& attempt) {
  message::Message message;
  message.mutable_forget()->set_plan(attempt.deployed->id);
  message.mutable_forget()->set_request(attempt.id);
  for (int worker : plan::workers_of(attempt.deployed->scheduled.plan())) {
    links_.post(worker, message);
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

void RequestRunner::check_every(uint64_t interval) {
  const std::lock_guard lock(mutex_);
  checks_.set_interval(interval);
  is_checking_ = interval > 0;
}

std::vector<DisputedRequest> RequestRunner::take_disputed() {
  std::vector<Attempt> expired;
  std::vector<DisputedRequest> disputed;
  {
    const std::lock_guard lock(mutex_);
    expired = checks_.expire(std::chrono::steady_clock::now());
    disputed = checks_.take_disputed();
  }
  for (const Attempt& one : expired) forget(one);
  return disputed;
}

Checks::Tally RequestRunner::checks_tally() const {
  const std::lock_guard lock(mutex_);
  return checks_.tally();
}

void RequestRunner::add(DeployedPlanPtr deployed) {
  const std::lock_guard lock(mutex_);
  requests_.add(std::move(deployed));
}

void RequestRunner::remove(uint64_t plan) {
  const Event event(*this);
  // A plan is also a separate service, under the same number (PlanDeployer::deploy).
  requests_.offer(plan, {});
  requests_.remove(plan);
}

void RequestRunner::offer(uint64_t service, std::vector<uint64_t> plans, bool mended) {
  const Event event(*this);
  requests_.offer(service, std::move(plans), mended);
}

void RequestRunner::give_up(uint64_t service, const Status& why) {
  const Event event(*this);
  requests_.give_up(service, why);
}

void RequestRunner::restore(uint64_t plan, int worker) {
  const Event event(*this);
  requests_.restore(plan, worker);
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
  const std::string name = is_checking_ ? links_.name(worker) : std::string();
  const Event event(*this);
  // The plan decides the type and shape of a piece, never the message.
  SHOAL_ASSIGN(auto type, requests_.expect(worker, data.request(), piece));
  // A copy that comes after the answer still shows whether a worker lied.
  if (!type) type = checks_.expect(worker, data.request(), piece);
  if (!type) return {};  // the request is over
  SHOAL_ASSIGN(const Tensor elements, to_tensor(frame, type->dtype, type->shape));
  if (checks_.arrive(data.request(), name, piece, elements)) tell_watchers();
  requests_.arrive(data.request(), piece, elements);
  const auto measurement = measurements_.find(data.request());
  if (measurement == measurements_.end()) return {};
  measurement->second.received(piece, worker);
  if (!requests_.knows(data.request())) measurement->second.answered();
  return {};
}

Status RequestRunner::expect(int worker, const message::Data& data, size_t bytes) {
  SHOAL_ASSIGN(const plan::Piece piece, decode(data.piece()));
  const std::lock_guard lock(mutex_);
  SHOAL_ASSIGN(auto type, requests_.expect(worker, data.request(), piece));
  if (!type) type = checks_.expect(worker, data.request(), piece);
  if (!type) return Status(Code::kCancelled, "the request is over");
  if (type->bytes() == bytes) return {};
  return Status(Code::kCorrupt, "a piece has the wrong size");
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
  const Event event(*this);
  requests_.fail(worker, failed.request(), status,
                 named ? static_cast<int>(failed.unreached()) - 1 : -1);
  if (status.code() == Code::kUnavailable) tell_watchers();
}

void RequestRunner::take_cut(int worker, const message::Cut& cut) {
  const std::vector<WorkerInfo> infos = links_.infos();
  const auto from = std::ranges::find(infos, cut.from(), &WorkerInfo::name);
  // A name that this coordinator does not know: a worker of another one.
  if (from == infos.end()) return;
  const std::string& hears = infos[static_cast<size_t>(worker)].name;
  const Event event(*this);
  requests_.cut_off(cut.plan(), static_cast<int>(from - infos.begin()), worker,
                    Status(Code::kUnavailable,
                           "worker " + hears + " hears nothing of " + from->name + " any more"));
  tell_watchers();
}

Status RequestRunner::take_report(int worker, const message::Checked& checked) {
  SHOAL_ASSIGN(const std::vector<Dispute> disputes, decode(checked));
  const std::lock_guard lock(mutex_);
  if (checks_.report(worker, checked.request(), disputes)) tell_watchers();
  return {};
}

void RequestRunner::lose(int worker, const Status& why) {
  const Event event(*this);
  gone_.insert(worker);
  checks_.lose(worker);
  requests_.lose(worker, why);
  for (auto& [attempt, measurement] : measurements_) measurement.excuse(worker);
  tell_watchers();
}

void RequestRunner::revive(int worker) {
  const std::lock_guard lock(mutex_);
  gone_.erase(worker);
}

}  // namespace shoal::cluster
