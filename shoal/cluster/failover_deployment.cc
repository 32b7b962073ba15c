// The control loop of failover. The keeper thread wakes up on a loss, on the second request and at
// every retry interval, and brings the deployed plans to the state that FailoverPolicy asks for:
//
//   1. judge disputes about checked requests, and leave out workers that lie;
//   2. reconnect to lost workers;
//   3. give plans back to workers that returned;
//   4. deploy what is missing: first for the present workers, then for each further loss;
//   5. retire plans that others have replaced, once no request uses them.
//
// A loss in the middle starts the loop again. Requests never wait for it unless no deployed plan
// can answer; in that case Requests holds them until the next offer.
#include "shoal/cluster/failover_deployment.h"

#include <algorithm>

#include "shoal/base/background_thread.h"
#include "shoal/cluster/judge.h"

namespace shoal::cluster {

FailoverDeployment::FailoverDeployment(Coordinator& coordinator, FailoverOptions options)
    : coordinator_(coordinator),
      options_(std::move(options)),
      policy_(options_.standby),
      strikes_(1),
      is_whole_([this](uint64_t plan) { return remotes_.at(plan)->is_whole(); }),
      service_(coordinator.make_service()) {
  SHOAL_CHECK(options_.verify == 0 || options_.judge != nullptr);
  if (options_.verify > 0) coordinator.check_every(options_.verify);
}

Result<std::unique_ptr<FailoverDeployment>> FailoverDeployment::start(Coordinator& coordinator,
                                                                      FailoverOptions options) {
  std::unique_ptr<FailoverDeployment> failover(
      new FailoverDeployment(coordinator, std::move(options)));
  SHOAL_ASSIGN(const Made* first, failover->plan_for(failover->present()));
  failover->first_ = &first->prediction;
  failover->strikes_ = Strikes(std::max(1, first->prediction.plan().survives));
  SHOAL_TRY(failover->deploy_for(failover->present()));
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
  coordinator_.offer(service_, {});
}

Status FailoverDeployment::run(std::span<const Tensor> inputs, std::span<Tensor> outputs,
                               std::chrono::milliseconds timeout, const std::stop_token& cancel) {
  // A caller that asks once should not pay for plans that will not be used.
  if (++asked_ == 2) wake();
  return coordinator_.run(service_, inputs, outputs, timeout, nullptr, cancel);
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

size_t FailoverDeployment::deployed() const {
  const std::lock_guard lock(mutex_);
  return deployed_;
}

Workers FailoverDeployment::present() const {
  Workers all;
  for (size_t w = 0; w < coordinator_.worker_count(); ++w) all.insert(static_cast<int>(w));
  for (int worker : coordinator_.lost()) all.erase(worker);
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
    look_for_the_lost();
    const Mended mended = mend();
    lock.lock();
    // Not settled: something happened meanwhile, or a worker is still expected back.
    if (news_ || mended == Mended::kForNow) continue;
    settled_ = true;
    changed_.notify_all();
  }
}

void FailoverDeployment::look_for_the_lost() {
  if (options_.retry_interval.count() == 0) return;
  const Workers liars = left_out();
  for (int worker : coordinator_.lost()) {
    if (liars.contains(worker) || !coordinator_.revive(worker).ok()) continue;
    // Sets of workers that had no plan are tried again: the cluster has changed.
    policy_.forgive();
  }
}

void FailoverDeployment::judge_disputes() {
  if (options_.verify == 0) return;
  std::vector<std::string> names;
  for (const WorkerInfo& info : coordinator_.workers()) names.push_back(info.name);
  for (const DisputedRequest& request : coordinator_.take_disputed()) {
    Result<std::vector<Accusation>> accusations = std::vector<Accusation>();
    run_at_low_priority([&] { accusations = judge(request, names, *options_.judge); });
    // What cannot be computed here cannot be judged; the next dispute may be.
    if (accusations.ok()) strikes_.add(*accusations);
  }
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
    coordinator_.give_up(service_, Status(Code::kUnavailable, "no worker is left"));
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
    policy_.refuse(*set);
    if (*set == all) coordinator_.give_up(service_, status);
  }
  if (waits) return Mended::kForNow;
  retire();
  return Mended::kAsCanBe;
}

// Gives workers that came back the plans that they had; the others still have them.
bool FailoverDeployment::restore(const Workers& present) {
  for (uint64_t plan : policy_.restorable(present, is_whole_)) {
    const Status status = remotes_.at(plan)->restore();
    if (is_interrupted()) return false;
    if (status.code() == Code::kUnavailable) return false;
    if (status.ok()) continue;
    policy_.drop(plan);  // another takes its place
    retired_.insert(plan);
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

Result<FailoverDeployment::Made> FailoverDeployment::make_plan(const Workers& set) const {
  SHOAL_ASSIGN(plan::Prediction prediction, options_.plan(set));
  SHOAL_ASSIGN(EncodedPlanPtr encoded, coordinator_.encode(prediction.scheduled));
  return Made{std::move(prediction), std::move(encoded)};
}

Result<const FailoverDeployment::Made*> FailoverDeployment::plan_for(const Workers& set) {
  std::unique_ptr<Made>& known = plans_[set];
  if (known == nullptr) {
    Result<Made> made = Status(Code::kInternal, "not planned");
    const auto make = [&] { made = make_plan(set); };
    remotes_.empty() ? make() : run_at_low_priority(make);  // no request waits beside the first
    if (!made.ok()) return made.status();
    known = std::make_unique<Made>(*std::move(made));
  }
  return static_cast<const Made*>(known.get());
}

Status FailoverDeployment::deploy_for(const Workers& set) {
  SHOAL_ASSIGN(const Made* made, plan_for(set));
  SHOAL_ASSIGN(auto remote, coordinator_.deploy(made->encoded));
  const std::vector<int>& uses = remote->workers();
  policy_.add(set, remote->id(), {uses.begin(), uses.end()});
  remotes_.emplace(remote->id(), std::move(remote));
  // Offered one by one: requests that wait for a plan need not wait for all of them.
  coordinator_.offer(service_, policy_.order(), true);
  return {};
}

void FailoverDeployment::retire() {
  for (uint64_t plan : policy_.retire(present(), is_whole_)) retired_.insert(plan);
  coordinator_.offer(service_, policy_.order(), true);
  // A retired plan is not offered any more, so its uses only become fewer.
  std::erase_if(retired_, [&](uint64_t plan) {
    return !remotes_.at(plan)->in_use() && remotes_.erase(plan) > 0;
  });
  const std::lock_guard lock(mutex_);
  deployed_ = remotes_.size() - retired_.size();
}

}  // namespace shoal::cluster
