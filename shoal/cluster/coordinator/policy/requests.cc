// The state machine of requests.
//
//   submitted -> waiting -> attempt -> answered
//       |           ^          |  loss that the plan does not survive
//       v           '----------'
//    refused     (kMostReplays times)
//
// Invariants: a request has at most one attempt in progress, and attempts_ holds exactly those; at
// most kMostReplays replays, except suspects; every request ends with exactly one RequestOutcome.
// An attempt survives a loss if the plan answers without all workers that the attempt cannot rely
// on (plan::survives_loss). Errors other than kUnavailable are not replayed: they would repeat. A
// request that waits is in the queue of its service, and after every event none waits whose plan
// has a free place in its window: all events that may change that end with begin_waiting().
#include "shoal/cluster/coordinator/policy/requests.h"

#include <algorithm>

#include "shoal/plan/cost/plan_stats.h"
#include "shoal/plan/survives.h"

namespace shoal::cluster {
namespace {

bool uses(const DeployedPlan& deployed, const std::set<int>& workers) {
  if (workers.empty()) return false;
  return std::ranges::any_of(plan::workers_of(deployed.scheduled.plan()),
                             [&](int worker) { return workers.contains(worker); });
}

// The walk of survives_loss() costs more than the set test, so the common case comes first.
bool answers(const DeployedPlan& deployed, const std::set<int>& gone) {
  const std::vector<int> lost(gone.begin(), gone.end());
  return !uses(deployed, gone) ||
         plan::survives_loss(deployed.scheduled.graph(), deployed.scheduled.plan(),
                             deployed.scheduled.schedule(), lost);
}

std::set<int> merged(std::set<int> some, const std::set<int>& others) {
  some.insert(others.begin(), others.end());
  return some;
}

std::vector<size_t> inputs_to_send(const DeployedPlan& deployed, const std::set<int>& gone) {
  std::vector<size_t> sends;
  for (size_t i = 0; i < deployed.scheduled.schedule().transfers.size(); ++i) {
    const plan::Transfer& transfer = deployed.scheduled.schedule().transfers[i];
    const bool leaves = transfer.from == plan::kCoordinator && transfer.to != plan::kCoordinator;
    if (leaves && !gone.contains(transfer.to)) sends.push_back(i);
  }
  return sends;
}

}  // namespace

void Requests::add(DeployedPlanPtr deployed) {
  const uint64_t id = deployed->id;
  const AttemptWindow window(window_of(deployed->scheduled.plan()));
  deployed_plans_.insert_or_assign(id, Offered{std::move(deployed), window});
}

void Requests::remove(uint64_t deployed) {
  for (auto& [id, service] : services_) std::erase(service.deployed_plans, deployed);
  deployed_plans_.erase(deployed);
  for (auto& [id, request] : requests_) {
    if (request.attempt.deployed == nullptr || request.attempt.deployed->id != deployed) continue;
    fail_attempt(request, Status(Code::kUnavailable, "its plan was withdrawn"), true);
  }
  begin_waiting();
}

void Requests::offer(uint64_t service, std::vector<uint64_t> deployed_plans, bool mended) {
  if (deployed_plans.empty()) {
    services_.erase(service);
  } else {
    Service& its = services_[service];
    // A plan that was not offered before clears `hopeless`: it is the better offer that was not
    // expected. Fewer of the same do not.
    const bool is_better = std::ranges::any_of(deployed_plans, [&](uint64_t id) {
      return std::ranges::find(its.deployed_plans, id) == its.deployed_plans.end();
    });
    its = {std::move(deployed_plans), mended, is_better ? Status() : its.hopeless};
  }
  begin_waiting();
}

void Requests::give_up(uint64_t service, const Status& why) {
  const auto it = services_.find(service);
  if (it != services_.end()) it->second.hopeless = why;
  begin_waiting();
}

bool Requests::in_use(uint64_t deployed) const {
  return std::ranges::any_of(requests_, [&](const auto& entry) {
    const Request& request = entry.second;
    return !request.over && request.attempt.deployed && request.attempt.deployed->id == deployed;
  });
}

std::vector<int> Requests::having(uint64_t deployed) const {
  const Offered& offered = deployed_plans_.at(deployed);
  std::vector<int> workers = plan::workers_of(offered.deployed->scheduled.plan());
  std::erase_if(workers, [&](int worker) { return offered.gone.contains(worker); });
  return workers;
}

std::vector<int> Requests::missing(uint64_t deployed) const {
  const Offered& offered = deployed_plans_.at(deployed);
  std::vector<int> workers = plan::workers_of(offered.deployed->scheduled.plan());
  std::erase_if(workers, [&](int worker) { return !offered.gone.contains(worker); });
  return workers;
}

// Workers that any plan of the service has lost. Such a worker may be about to be lost by all: the
// workers that listen to it notice first.
std::set<int> Requests::doubted(const Service& service) const {
  std::set<int> workers;
  for (uint64_t id : service.deployed_plans) workers = merged(workers, deployed_plans_.at(id).gone);
  return workers;
}

const Requests::Offered* Requests::choose(const Service& service,
                                          const std::set<int>& suspects) const {
  // Three tries, from safe to desperate: a plan without any doubtful worker; a plan that has lost
  // none of its workers; a damaged plan that survives its losses. If suspects alone are in the way,
  // they are tried after all.
  const std::set<int> avoided = merged(suspects, doubted(service));
  for (uint64_t id : service.deployed_plans) {
    if (!uses(*deployed_plans_.at(id).deployed, avoided)) return &deployed_plans_.at(id);
  }
  const Offered* damaged = nullptr;
  for (uint64_t id : service.deployed_plans) {
    const Offered& offered = deployed_plans_.at(id);
    const std::set<int> without = merged(offered.gone, suspects);
    if (!uses(*offered.deployed, without)) return &offered;
    if (damaged == nullptr && answers(*offered.deployed, without)) damaged = &offered;
  }
  return damaged != nullptr || suspects.empty() ? damaged : choose(service);
}

Status Requests::usable(uint64_t service) const {
  const auto it = services_.find(service);
  if (it == services_.end() || it->second.deployed_plans.empty()) {
    return Status(Code::kUnavailable, "there is no plan any more");
  }
  if (choose(it->second) != nullptr) return {};
  const Status& why = deployed_plans_.at(it->second.deployed_plans.front()).why;
  return why.ok() ? Status(Code::kUnavailable, "no plan can do without the workers that are lost")
                  : why;
}

uint64_t Requests::submit(uint64_t service, std::span<const Tensor> inputs, Time deadline,
                          uint64_t client) {
  const uint64_t id = next_request_++;
  Request& request = requests_[id];
  request.id = id;
  request.service = service;
  request.client = client;
  request.deadline = deadline;
  if (const auto retry_after = refusal(request)) {
    refuse(request, Status(Code::kExhausted, "too many requests at once"), *retry_after);
    return id;
  }
  request.inputs.assign(inputs.begin(), inputs.end());
  queues_[service].push(id, client);
  begin_waiting();
  return id;
}

Requests::Offered* Requests::choose(const Request& request) {
  const auto service = services_.find(request.service);
  if (service == services_.end()) return nullptr;
  const Offered* by = choose(service->second, request.suspects);
  return by == nullptr ? nullptr : &deployed_plans_.at(by->deployed->id);
}

// Whether a new request is to be refused, and when it may be tried again. Never where nothing is on
// its way: that is how it is found out that the plan is quick again. A client that has less waiting
// than another does not suffer from the number of that one's requests: the newest of them gives
// way.
std::optional<AttemptWindow::Duration> Requests::refusal(const Request& request) {
  static const FairQueue kNone;
  constexpr int kCaution = 3;  // waiting requests should be answered even if attempts become slower
  const auto waiting = queues_.find(request.service);
  const FairQueue& queue = waiting == queues_.end() ? kNone : waiting->second;
  const Offered* by = choose(request);
  const AttemptWindow window = by == nullptr ? AttemptWindow() : by->window;
  const bool has_room = window.has_room() && queue.size() == 0;
  const size_t before = has_room ? 0 : queue.ahead_of(request.client) + 1;
  const AttemptWindow::Duration takes = (has_room ? 1 : kCaution) * window.until_end(before);
  const bool is_idle = by == nullptr || (has_room && window.under_way() == 0);
  if (!is_idle && now_ + takes > request.deadline) return now_ + takes - request.deadline;
  if (queue.size() < kMostWaiting) return std::nullopt;
  const AttemptWindow::Duration until = window.until_begin(before);
  const std::optional<uint64_t> other = queue.to_give_way_to(request.client);
  if (!other) return until;
  refuse(requests_.at(*other), Status(Code::kExhausted, "another client's turn"), until);
  return std::nullopt;
}

void Requests::refuse(Request& request, const Status& why, AttemptWindow::Duration retry_after) {
  constexpr std::chrono::milliseconds kLeast{1};
  const auto wait = std::max(kLeast, std::chrono::ceil<std::chrono::milliseconds>(retry_after));
  // People read it in the message; programs have the field.
  end(request, Status(why.code(), std::string(why.message()) + ": try again in " +
                                      std::to_string(wait.count()) + " ms"));
  request.step.end->retry_after = wait;
}

size_t Requests::waiting(uint64_t service) const {
  const auto it = queues_.find(service);
  return it == queues_.end() ? 0 : it->second.size();
}

// Begins all requests that fit the windows.
void Requests::begin_waiting() {
  for (auto it = queues_.begin(); it != queues_.end();) {
    while (begin_first(it->first, it->second)) {
    }
    it = it->second.size() == 0 ? queues_.erase(it) : std::next(it);
  }
}

// Takes the first request out of the queue: it begins, or it ends because no plan will ever answer.
// False if it has to wait, for a place in a window or for an offer.
bool Requests::begin_first(uint64_t service, FairQueue& queue) {
  const std::optional<uint64_t> first = queue.first();
  if (!first) return false;
  Request& request = requests_.at(*first);
  if (Offered* by = choose(request); by != nullptr) {
    if (!by->window.has_room()) return false;
    queue.pop();
    begin(request, *by);
    return true;
  }
  // A deployment makes plans for this service: the request waits for them.
  const auto its = services_.find(service);
  const bool may_change = its != services_.end() && its->second.mended;
  if (may_change && its->second.hopeless.ok()) return false;
  queue.pop();
  if (may_change) {
    end(request, its->second.hopeless);
  } else {
    end(request, request.why.ok() ? usable(service) : request.why);
  }
  return true;
}

void Requests::begin(Request& request, Offered& by) {
  by.window.begin();
  request.attempt = {by.deployed, next_attempt_++};
  request.began = now_;
  request.gone = by.gone;
  request.answer.emplace(by.deployed->scheduled.graph(), request.inputs);
  attempts_[request.attempt.id] = request.id;
  request.step.begin = request.attempt;
  request.step.sends = inputs_to_send(*by.deployed, by.gone);
  // Outputs that are inputs or constants need no worker.
  if (request.answer->complete()) end(request, {});
}

void Requests::learn(const Request& request, int times) {
  if (request.attempt.deployed == nullptr) return;
  const auto it = deployed_plans_.find(request.attempt.deployed->id);
  if (it != deployed_plans_.end()) it->second.window.learn(times * (now_ - request.began));
}

void Requests::leave_window(const Request& request) {
  if (request.attempt.deployed == nullptr) return;
  const auto it = deployed_plans_.find(request.attempt.deployed->id);
  if (it != deployed_plans_.end()) it->second.window.end();  // otherwise it was withdrawn
}

RequestStep Requests::step(uint64_t request) {
  const auto it = requests_.find(request);
  RequestStep step = std::exchange(it->second.step, {});
  if (step.end) requests_.erase(it);
  return step;
}

bool Requests::has_step(uint64_t request) const { return !requests_.at(request).step.empty(); }

bool Requests::is_replay(uint64_t attempt) const {
  const auto it = attempts_.find(attempt);
  return it != attempts_.end() && requests_.at(it->second).replays > 0;
}

Result<std::optional<TensorType>> Requests::expect(int worker, uint64_t attempt,
                                                   const plan::Piece& piece) {
  const auto it = attempts_.find(attempt);
  // A late piece of an attempt that is over is normal and no reason to lose the worker.
  if (it == attempts_.end()) return std::optional<TensorType>();
  const DeployedPlan& deployed = *requests_.at(it->second).attempt.deployed;
  const bool planned =
      std::ranges::any_of(deployed.scheduled.schedule().transfers, [&](const auto& transfer) {
        return transfer.from == worker && transfer.to == plan::kCoordinator &&
               transfer.piece == piece;
      });
  if (!planned) return Status(Code::kCorrupt, "a piece that is not in the plan");
  return std::optional(
      TensorType{deployed.scheduled.graph()[piece.value].type.dtype, piece.region.shape()});
}

void Requests::arrive(uint64_t attempt, const plan::Piece& piece, const Tensor& elements) {
  const auto it = attempts_.find(attempt);
  if (it == attempts_.end()) return;
  Request& request = requests_.at(it->second);
  request.answer->put(piece, elements);
  if (!request.answer->complete()) return;
  learn(request, 1);
  end(request, {});
  begin_waiting();
}

void Requests::fail(int worker, uint64_t attempt, const Status& why, int blamed) {
  const auto it = attempts_.find(attempt);
  if (it == attempts_.end()) return;
  Request& request = requests_.at(it->second);
  Offered& offered = deployed_plans_.at(request.attempt.deployed->id);
  if (!uses(*offered.deployed, {worker})) return;  // it has no part in this
  if (why.code() == Code::kUnavailable) {
    return blamed >= 0 ? cut_off(offered.deployed->id, blamed, worker, why)
                       : count_out(offered, worker, why);
  }
  // In this attempt only: the next one may be taken.
  request.gone.insert(blamed >= 0 ? blamed : worker);
  // A worker that cannot compute its task is no lost worker: another one could not compute it
  // either, so there is no replay. A redundant plan may answer without it.
  if (answers(*offered.deployed, request.gone)) return;
  if (why.code() == Code::kExhausted) {
    // There is a free place when the attempts in progress have ended.
    const AttemptWindow::Duration retry_after = offered.window.until_begin(offered.window.limit());
    abandon(request);
    refuse(request, why, retry_after);
  } else {
    fail_attempt(request, why, false);
  }
  begin_waiting();
}

void Requests::cut_off(uint64_t deployed, int worker, int said_by, const Status& why) {
  const auto it = deployed_plans_.find(deployed);
  // Both ends report a broken link. The first report decides which of them stays; dropping both
  // would waste a worker that is fine.
  if (it == deployed_plans_.end() || it->second.gone.contains(said_by)) return;
  // Blame counts between workers of one plan only: a member must not make others lose their plans.
  const DeployedPlan& its = *it->second.deployed;
  if (worker == said_by || !uses(its, {worker}) || !uses(its, {said_by})) return;
  count_out(it->second, worker, why);
}

void Requests::count_out(Offered& offered, int worker, const Status& why) {
  if (!offered.gone.insert(worker).second) return;
  offered.why = why;
  reconsider(offered);
  begin_waiting();
}

// All plans learn of the loss before any request looks for another plan; otherwise its replay might
// begin on a plan that has lost the same worker.
void Requests::lose(int worker, const Status& why) {
  for (auto& [id, offered] : deployed_plans_) {
    if (uses(*offered.deployed, {worker}) && offered.gone.insert(worker).second) offered.why = why;
  }
  for (const auto& [id, offered] : deployed_plans_) reconsider(offered);
  begin_waiting();
}

void Requests::restore(uint64_t deployed, int worker) {
  const auto it = deployed_plans_.find(deployed);
  if (it != deployed_plans_.end()) it->second.gone.erase(worker);
  begin_waiting();
}

// Fails the attempts by this plan that cannot do without the workers that it has lost.
void Requests::reconsider(const Offered& offered) {
  for (auto& [id, request] : requests_) {
    if (request.over || request.attempt.deployed != offered.deployed) continue;
    request.gone.insert(offered.gone.begin(), offered.gone.end());
    if (answers(*offered.deployed, request.gone)) continue;
    // Who was suspected and is now lost is one loss. To have tried such a worker after all, because
    // no plan was without it, uses up no replay.
    const bool is_known = std::ranges::includes(request.suspects, offered.gone);
    request.suspects.insert(offered.gone.begin(), offered.gone.end());
    if (is_known) --request.replays;
    fail_attempt(request, offered.why, request.replays < kMostReplays);
  }
}

// A replay does not begin here: all plans have to learn of a loss first.
void Requests::fail_attempt(Request& request, const Status& why, bool may_replay) {
  abandon(request);
  request.why = why;
  if (!may_replay) return end(request, why);
  ++request.replays;
  queues_[request.service].push_again(request.id, request.client);
}

void Requests::abandon(Request& request) {
  if (request.attempt.deployed == nullptr) return;
  attempts_.erase(request.attempt.id);
  leave_window(request);
  // The runner has not taken the step yet, so no worker knows of the attempt.
  if (!request.step.begin) request.step.abandon = request.attempt;
  request.step.begin.reset();
  request.attempt = {};
}

void Requests::end(Request& request, const Status& status) {
  request.over = true;
  attempts_.erase(request.attempt.id);
  leave_window(request);
  if (const auto queue = queues_.find(request.service); queue != queues_.end()) {
    queue->second.remove(request.id);
  }
  // Stragglers of a redundant plan need not go on, and a task that waits for a lost worker would
  // wait for ever.
  const bool others_go_on =
      request.attempt.deployed && request.attempt.deployed->scheduled.plan().survives > 0;
  if (status.ok() && others_go_on) request.step.abandon = request.attempt;
  request.step.end =
      RequestOutcome{status, {}, std::exchange(request.attempt, {}), {}, request.replays > 0, {}};
  if (status.ok()) request.step.end->outputs = request.answer->take();
}

void Requests::expire(Time now) {
  set_time(std::max(now_, now));
  for (auto& [id, request] : requests_) {
    if (request.over || now < request.deadline) continue;
    // A request that timed out while waiting for a plan fails with the reason of its first attempt.
    const bool tried = request.attempt.deployed != nullptr;
    learn(request, 2);  // it would have taken longer; twice as long is a guess
    std::vector<int> workers = awaited(request);
    abandon(request);
    end(request,
        tried || request.why.ok() ? Status(Code::kDeadline, "no answer in time") : request.why);
    request.step.end->awaited = std::move(workers);
  }
  begin_waiting();
}

void Requests::cancel(uint64_t request) {
  const auto it = requests_.find(request);
  if (it == requests_.end() || it->second.over) return;
  abandon(it->second);
  end(it->second, Status(Code::kCancelled, "the request was cancelled"));
  begin_waiting();
}

std::vector<int> Requests::awaited(const Request& request) {
  if (request.attempt.deployed == nullptr) return {};
  std::set<int> workers;
  for (const plan::Transfer& transfer : request.attempt.deployed->scheduled.schedule().transfers) {
    const bool comes = transfer.to == plan::kCoordinator && transfer.from != plan::kCoordinator;
    if (comes && request.answer->awaits(transfer.piece)) workers.insert(transfer.from);
  }
  return {workers.begin(), workers.end()};
}

}  // namespace shoal::cluster
