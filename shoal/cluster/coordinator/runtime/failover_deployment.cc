// The control loop of failover. The keeper thread wakes up on a loss, on the second request and at
// every retry interval, and brings the deployed plans to the state that FailoverPolicy asks for:
//
//   1. evaluate disputes about checked requests, and leave out workers that lie;
//   2. reconnect to lost workers;
//   3. give plans back to workers that returned;
//   4. deploy what is missing: first for the present workers, then for each further loss;
//   5. retire plans that others have replaced, once no request uses them.
//
// A loss in the middle starts the loop again. Requests wait for it only if no deployed plan can
// answer; Requests then holds them until the next offer.
//
// Each turn of a round is a separate service. It offers that turn first, followed by a few others
// of the round, so that the loss of a worker that takes part in only some turns leaves the others
// to all requests.
#include "shoal/cluster/coordinator/runtime/failover_deployment.h"

#include <algorithm>

#include "shoal/base/threads/background_thread.h"
#include "shoal/cluster/coordinator/policy/judge.h"

namespace shoal::cluster {
namespace {

constexpr size_t kMostTurnsOffered = 8;  // by one service, of one round

}  // namespace

bool FailoverDeployment::Round::is_whole() const {
  return std::ranges::all_of(remotes, [](const auto& remote) { return remote->is_whole(); });
}

bool FailoverDeployment::Round::in_use() const {
  return std::ranges::any_of(remotes, [](const auto& remote) { return remote->in_use(); });
}

Workers FailoverDeployment::Round::workers() const {
  Workers all;
  for (const auto& remote : remotes) all.insert(remote->workers().begin(), remote->workers().end());
  return all;
}

std::function<Result<Turns>(const Workers&)> one_turn(
    std::function<Result<plan::Prediction>(const Workers&)> plan) {
  return [plan = std::move(plan)](const Workers& set) -> Result<Turns> {
    SHOAL_ASSIGN(const plan::Prediction prediction, plan(set));
    return Turns{prediction.scheduled};
  };
}

FailoverDeployment::FailoverDeployment(Coordinator& coordinator, FailoverOptions options)
    : coordinator_(coordinator),
      options_(std::move(options)),
      policy_(options_.standby),
      strikes_(1),
      is_whole_([this](uint64_t round) { return rounds_.at(round).is_whole(); }) {
  SHOAL_CHECK(options_.verify == 0 || options_.judge != nullptr);
  if (options_.verify > 0) coordinator.check_every(options_.verify);
}

Result<std::unique_ptr<FailoverDeployment>> FailoverDeployment::start(Coordinator& coordinator,
                                                                      FailoverOptions options) {
  std::unique_ptr<FailoverDeployment> failover(
      new FailoverDeployment(coordinator, std::move(options)));
  const Workers present = coordinator.present();
  SHOAL_ASSIGN(const Made* first, failover->plans_for(present));
  failover->first_ = first->turns;
  failover->strikes_ = Strikes(std::max(1, first->turns.front().plan().survives));
  SHOAL_TRY(failover->deploy_for(present));
  coordinator.watch(failover.get(), [self = failover.get()] { self->wake(); });
  failover->keeper_ = std::thread([self = failover.get()] { self->keep(); });
  return failover;
}

FailoverDeployment::~FailoverDeployment() {
  // First, so that no loss wakes an object that is being destroyed.
  coordinator_.watch(this, nullptr);
  {
    const std::lock_guard lock(mutex_);
    over_ = true;
    changed_.notify_all();
  }
  if (keeper_.joinable()) keeper_.join();
  for (uint64_t service : services_) coordinator_.requests().offer(service, {});
}

Status FailoverDeployment::run(std::span<const Tensor> inputs, std::span<Tensor> outputs,
                               const RequestOptions& options) {
  // A caller that asks once should not pay for plans that will not be used.
  if (++asked_ == 2) wake();
  const auto [service, worker] = next_service();
  const Status status = coordinator_.requests().run(service, inputs, outputs, options);
  if (worker) {
    const std::lock_guard lock(mutex_);
    dealer_.end(*worker, status.ok(), std::chrono::steady_clock::now());
  }
  return status;
}

Status FailoverDeployment::run_on(int worker, std::span<const Tensor> inputs,
                                  std::span<Tensor> outputs, const RequestOptions& options) {
  return coordinator_.requests().run(service_of(worker), inputs, outputs, options);
}

uint64_t FailoverDeployment::service_of(int worker) {
  {
    const std::lock_guard lock(mutex_);
    if (const auto turn = alone_.find(worker); turn != alone_.end()) return services_[turn->second];
  }
  return next_service().service;
}

FailoverDeployment::Dealt FailoverDeployment::next_service() {
  const std::lock_guard lock(mutex_);
  const size_t turn = next_turn_++ % current_.size();
  if (!dealer_.has_workers()) return {services_[turn], std::nullopt};
  const int worker = dealer_.begin(worker_of_turn_[turn], std::chrono::steady_clock::now());
  return {services_[alone_.at(worker)], worker};
}

void FailoverDeployment::wake() {
  const std::lock_guard lock(mutex_);
  news_ = true;
  settled_ = false;
  changed_.notify_all();
}

void FailoverDeployment::settle() {
  wake();
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return settled_; });
}

void FailoverDeployment::replan() {
  {
    const std::lock_guard lock(mutex_);
    outdated_ = true;
  }
  wake();
}

size_t FailoverDeployment::deployed() const {
  const std::lock_guard lock(mutex_);
  return deployed_;
}

Turns FailoverDeployment::current() const {
  const std::lock_guard lock(mutex_);
  return current_;
}

size_t FailoverDeployment::changes() const {
  const std::lock_guard lock(mutex_);
  return changes_;
}

Workers FailoverDeployment::present() const {
  Workers all = coordinator_.present();
  // Another deployment of the same coordinator may have connected to it again.
  for (int worker : left_out()) all.erase(worker);
  return all;
}

void FailoverDeployment::keep() {
  for (;;) {
    std::unique_lock lock(mutex_);
    const auto is_woken = [&] { return news_ || over_; };
    if (options_.retry_interval.count() > 0) {
      changed_.wait_for(lock, options_.retry_interval, is_woken);
    } else {
      changed_.wait(lock, is_woken);
    }
    if (over_) return;
    news_ = false;
    lock.unlock();
    judge_disputes();
    look_around();
    const Mended mended = mend();
    lock.lock();
    // Not settled: something happened meanwhile, or a worker is still expected back.
    if (news_ || mended == Mended::kForNow) continue;
    settled_ = true;
    changed_.notify_all();
  }
}

// Looks for lost workers, and for reasons to make plans again.
void FailoverDeployment::look_around() {
  const bool has_revived =
      options_.retry_interval.count() > 0 && coordinator_.revive_lost(left_out()) > 0;
  // Sets of workers that had no plan are tried again when the cluster has changed, or when a worker
  // was too slow: it recovers without being lost, so nothing else would tell.
  if (std::exchange(was_slow_, false) || has_revived) policy_.forgive();
  const bool is_outdated = options_.is_outdated && options_.is_outdated();
  {
    const std::lock_guard lock(mutex_);
    if (!std::exchange(outdated_, false) && !is_outdated) return;
  }
  plans_.clear();
  policy_.outdate();
  policy_.forgive();
}

void FailoverDeployment::judge_disputes() {
  if (options_.verify == 0) return;
  std::vector<std::string> names;
  for (const WorkerInfo& info : coordinator_.workers()) names.push_back(info.name);
  const std::vector<DisputedRequest> disputed = coordinator_.take_disputed();
  if (disputed.empty()) return;
  run_at_low_priority([&] {
    for (const DisputedRequest& request : disputed) {
      const auto accusations = judge(request, names, *options_.judge);
      // Values that cannot be computed here cannot be evaluated; the next dispute may be.
      if (accusations.ok()) strikes_.add(*accusations);
    }
  });
  leave_out(strikes_.left_out());
}

// A worker that was left out on the word of one that turned out to lie is looked for again.
void FailoverDeployment::leave_out(const Workers& liars) {
  const Workers before = left_out();
  {
    const std::lock_guard lock(mutex_);
    left_out_ = liars;
  }
  for (int worker : liars) {
    if (before.contains(worker)) continue;
    const std::string name = coordinator_.workers()[static_cast<size_t>(worker)].name;
    const int strikes = strikes_.strikes_of(worker);
    const Status why(Code::kUnavailable,
                     "worker " + name + " is left out: " +
                         (strikes > 0 ? "what it computed was wrong in " + std::to_string(strikes) +
                                            " checked requests"
                                      : "it accuses others of errors that nobody else sees"));
    coordinator_.leave_out(worker, why);
    if (options_.left_out) options_.left_out(why);
  }
}

Workers FailoverDeployment::left_out() const {
  const std::lock_guard lock(mutex_);
  return left_out_;
}

// Makes the plans that are missing. A loss in between makes it begin again.
FailoverDeployment::Mended FailoverDeployment::mend() {
  const Workers all = present();
  if (all.empty()) {
    give_up(Status(Code::kUnavailable, "no worker is left"));
    return Mended::kAsCanBe;
  }
  if (!restore(all)) return Mended::kAsCanBe;
  const bool waits = is_expected_back(all);
  while (const std::optional<Workers> set = policy_.next(all, is_whole_, !waits)) {
    const Status status = deploy_for(*set);
    if (is_interrupted()) return Mended::kAsCanBe;
    if (status.ok()) continue;
    // The coordinator is about to report that loss.
    if (status.code() == Code::kUnavailable) return Mended::kAsCanBe;
    if (status.code() == Code::kDeadline) was_slow_ = true;
    policy_.refuse(*set);
    if (*set == all) give_up(status);
  }
  if (waits) return Mended::kForNow;
  retire();
  return Mended::kAsCanBe;
}

// Gives workers that came back the plans that they had; the others still have them.
bool FailoverDeployment::restore(const Workers& present) {
  for (uint64_t number : policy_.restorable(present, is_whole_)) {
    for (const auto& remote : rounds_.at(number).remotes) {
      if (remote->is_whole()) continue;
      const Status status = remote->restore();
      if (is_interrupted()) return false;
      if (status.code() == Code::kUnavailable) return false;
      if (status.ok()) continue;
      policy_.drop(number);  // another takes its place
      retired_.insert(number);
      break;
    }
  }
  return true;
}

bool FailoverDeployment::is_interrupted() {
  const std::lock_guard lock(mutex_);
  return over_ || news_;
}

bool FailoverDeployment::is_expected_back(const Workers& present) {
  const auto now = std::chrono::steady_clock::now();
  // The grace period begins again with each loss, not with each return.
  if (!std::ranges::includes(present, latest_)) lost_at_ = now;
  latest_ = present;
  // Workers that were left out are not expected.
  Workers here = left_out();
  here.insert(present.begin(), present.end());
  const bool all = here.size() == coordinator_.worker_count();
  return !all && options_.retry_interval.count() > 0 && now < lost_at_ + options_.grace;
}

Result<FailoverDeployment::Made> FailoverDeployment::make_plans(const Workers& set) const {
  Made made;
  SHOAL_ASSIGN(made.turns, options_.plan(set));
  for (const plan::ScheduledPlan& turn : made.turns) {
    SHOAL_ASSIGN(EncodedPlanPtr encoded, coordinator_.encode(turn));
    made.encoded.push_back(std::move(encoded));
  }
  return made;
}

Result<const FailoverDeployment::Made*> FailoverDeployment::plans_for(const Workers& set) {
  std::unique_ptr<Made>& known = plans_[set];
  if (known == nullptr) {
    Result<Made> made = Status(Code::kInternal, "not planned");
    const auto make = [&] { made = make_plans(set); };
    rounds_.empty() ? make() : run_at_low_priority(make);  // no request waits beside the first
    if (!made.ok()) return made.status();
    known = std::make_unique<Made>(*std::move(made));
  }
  return static_cast<const Made*>(known.get());
}

Status FailoverDeployment::deploy_for(const Workers& set) {
  SHOAL_ASSIGN(const Made* made, plans_for(set));
  Round round{made->turns, {}};
  for (const EncodedPlanPtr& encoded : made->encoded) {
    SHOAL_ASSIGN(auto remote, coordinator_.deploy(encoded, options_.traced));
    round.remotes.push_back(std::move(remote));
  }
  const uint64_t number = next_round_++;
  policy_.add(set, number, round.workers());
  rounds_.emplace(number, std::move(round));
  // Offered one by one: requests that wait for a plan need not wait for all of them.
  offer();
  return {};
}

void FailoverDeployment::offer() {
  const std::vector<uint64_t> order = policy_.order();
  if (order.empty()) return;
  const Round& best = rounds_.at(order.front());
  const Turns& turns = best.turns;
  std::vector<uint64_t> services;
  {
    // Before requests can use them: a client that has its answer sees the new plans.
    const std::lock_guard lock(mutex_);
    services = services_;
    changes_ += std::exchange(offered_, order.front()) != order.front() ? 1 : 0;
  }
  while (services.size() < turns.size()) services.push_back(coordinator_.make_service());
  for (size_t s = 0; s < services.size(); ++s) {
    std::vector<uint64_t> plans;
    for (uint64_t number : order) {
      const auto& remotes = rounds_.at(number).remotes;
      for (size_t t = 0; t < std::min(remotes.size(), kMostTurnsOffered); ++t) {
        plans.push_back(remotes[(s + t) % remotes.size()]->id());
      }
    }
    coordinator_.requests().offer(services[s], std::move(plans), true);
  }
  std::map<int, size_t> alone, requests;
  std::vector<int> worker_of_turn;
  for (size_t t = 0; t < turns.size(); ++t) {
    const std::vector<int>& workers = best.remotes[t]->workers();
    if (workers.size() != 1) continue;
    alone.emplace(workers.front(), t);
    ++requests[workers.front()];
    worker_of_turn.push_back(workers.front());
  }
  // Requests are dealt out where all turns are one worker's each.
  if (worker_of_turn.size() < turns.size() || alone.size() < 2) requests.clear();
  const std::lock_guard lock(mutex_);
  services_ = std::move(services);
  current_ = turns;
  alone_ = std::move(alone);
  worker_of_turn_ = std::move(worker_of_turn);
  dealer_.set_workers(requests);
}

void FailoverDeployment::give_up(const Status& why) {
  std::vector<uint64_t> services;
  {
    const std::lock_guard lock(mutex_);
    services = services_;
  }
  for (uint64_t service : services) coordinator_.requests().give_up(service, why);
}

void FailoverDeployment::retire() {
  for (uint64_t round : policy_.retire(present(), is_whole_)) retired_.insert(round);
  offer();
  // A retired round is not offered any more, so its uses only become fewer.
  std::erase_if(retired_, [&](uint64_t number) {
    return !rounds_.at(number).in_use() && rounds_.erase(number) > 0;
  });
  const std::lock_guard lock(mutex_);
  deployed_ = rounds_.size() - retired_.size();
}

}  // namespace shoal::cluster
