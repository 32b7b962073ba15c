// The shell around Requests and FailoverPolicy, in virtual time. It mirrors Coordinator,
// FailoverDeployment and PlanDeployer step by step, with messages where they have blocking calls:
// one deployment at a time, restoration in two phases, replies matched by plan. Every handler ends
// with pump() or mend(), which carry out the steps that became possible.
#include "shoal/cluster/chaos/simulated/sim_coordinator.h"

#include <algorithm>

#include "shoal/plan/cost/plan_stats.h"

namespace shoal::chaos {
namespace {

using namespace std::chrono_literals;

constexpr uint64_t kService = 1;
// Short beside the timeout of requests (history.cc), so that workers return in the middle of them.
constexpr Time kLookAgain = 250ms, kGrace = 500ms;

}  // namespace

SimCoordinator::SimCoordinator(World& world, std::vector<std::unique_ptr<SimWorker>>& workers,
                               Ended ended)
    : world_(world), workers_(workers), ended_(std::move(ended)) {
  ear_.ready = [this](int from, uint64_t plan) {
    // A reply to a deployment that was given up meanwhile.
    if (!deploying_ || deploying_->id != plan) return;
    deploying_->awaited.erase(from);
    if (!deploying_->awaited.empty()) return;
    deploying_->restored ? go_on_restoring() : finish_deploying();
  };
  ear_.data = [this](int from, uint64_t attempt, const plan::Piece& piece, const Tensor& part) {
    world_.reached(FaultPoint::kAnswerArrives, from);
    const auto type = requests_.expect(from, attempt, piece);
    // Simulated workers follow the protocol: a piece that is not in the plan is a bug of ours.
    SHOAL_CHECK(type.ok());
    if (*type) requests_.arrive(attempt, piece, part);
    pump();
  };
  ear_.failed = [this](int from, uint64_t attempt, const Status& status, int unreached) {
    world_.note("failed", from, unreached);
    requests_.fail(from, attempt, status, unreached);
    mend();
  };
  ear_.cut = [this](int from, uint64_t plan, int cut_off) {
    world_.note("cut", from, cut_off);
    requests_.cut_off(plan, cut_off, from, Status(Code::kUnavailable, "cut off"));
    mend();
  };
}

void SimCoordinator::start() {
  for (int w = 0; w < std::ssize(workers_); ++w) reach(w);
  mend();
  world_.clock.after(kLookAgain, [this] { look_for_the_lost(); });
}

void SimCoordinator::look_for_the_lost() {
  if (over_) return;
  for (int w = 0; w < std::ssize(workers_); ++w) {
    if (!links_.contains(w)) reach(w);
  }
  mend();
  world_.clock.after(kLookAgain, [this] { look_for_the_lost(); });
}

void SimCoordinator::reach(int worker) {
  const ConnectionPtr link = world_.network.connect(kCoordinator, worker);
  if (link == nullptr) return;
  world_.note("reached", worker);
  links_[worker] = link;
  // As FailoverDeployment::look_for_the_lost(): sets that had no plan are tried again.
  policy_.forgive();
  link->when_closed(kCoordinator, [this, worker] { lose(worker); });
  SimWorker* there = workers_[static_cast<size_t>(worker)].get();
  // A weak reference: the worker's plans own the connection, which would otherwise own itself.
  link->when_closed(worker, [there, weak = std::weak_ptr(link)] {
    if (const ConnectionPtr by = weak.lock()) there->coordinator_gone(by);
  });
}

void SimCoordinator::lose(int worker) {
  world_.note("lost", worker);
  links_.erase(worker);
  lost_at_ = world_.clock.now();
  requests_.lose(worker,
                 Status(Code::kUnavailable, "worker " + std::to_string(worker) + " is gone"));
  // Its Ready will never come.
  if (deploying_ && deploying_->uses.contains(worker)) stop_deploying();
  mend();
}

// A plan that was being restored stays as it is: the others still have it.
void SimCoordinator::stop_deploying() {
  const Deploying stopped = *std::exchange(deploying_, std::nullopt);
  if (!stopped.restored) withdraw(stopped.id);
}

void SimCoordinator::withdraw(uint64_t plan) {
  tell(deployed_plans_.at(plan), [plan](SimWorker& there) { there.release(plan); });
  requests_.remove(plan);
  deployed_plans_.erase(plan);
  made_for_.erase(plan);
}

cluster::Workers SimCoordinator::present() const {
  cluster::Workers all;
  for (const auto& [worker, link] : links_) all.insert(worker);
  return all;
}

// As FailoverDeployment::mend(), except that deploying takes time and this returns at once.
void SimCoordinator::mend() {
  const auto whole = [this](uint64_t plan) { return is_whole(plan); };
  if (!deploying_ && !restore()) {
    const bool waits = is_expected_back();
    if (const auto set = policy_.next(present(), whole, !waits)) {
      begin_to_deploy(*set);
    } else if (!waits) {
      retire();
    }
  }
  // Requests would otherwise wait for an offer until their timeout.
  if (present().empty()) {
    requests_.give_up(kService, Status(Code::kUnavailable, "no worker is left"));
  }
  pump();
}

bool SimCoordinator::is_expected_back() {
  return links_.size() < workers_.size() && world_.clock.now() < lost_at_ + kGrace;
}

// As PlanDeployer::restore(): first the worker that came back gets the plan, then the others are
// told. Returns whether there is a plan to restore.
bool SimCoordinator::restore() {
  const auto whole = [this](uint64_t plan) { return is_whole(plan); };
  const std::vector<uint64_t> plans = policy_.restorable(present(), whole);
  if (plans.empty()) return false;
  const cluster::DeployedPlanPtr deployed = deployed_plans_.at(plans.front());
  const int worker = requests_.missing(deployed->id).front();
  const std::vector<int> uses = plan::workers_of(deployed->scheduled.plan());
  const auto& [version, set] = made_for_.at(deployed->id);
  deploying_ = {set, {uses.begin(), uses.end()}, {worker}, deployed->id, worker, false};
  world_.note("restore", static_cast<int64_t>(deployed->id), worker);
  SimWorker* there = workers_[static_cast<size_t>(worker)].get();
  world_.network.send(links_.at(worker), kCoordinator,
                      [there, plan = deployed->id] { there->release(plan); });
  deploy_to(worker, set, deployed);
  return true;
}

void SimCoordinator::go_on_restoring() {
  const uint64_t plan = deploying_->id;
  const int worker = *deploying_->restored;
  // Second phase: the others must connect to the returned worker before requests rely on it.
  if (!std::exchange(deploying_->given, true)) {
    const std::vector<int> others = requests_.having(plan);
    deploying_->awaited = {others.begin(), others.end()};
    for (int other : deploying_->awaited) {
      SimWorker* there = workers_[static_cast<size_t>(other)].get();
      world_.network.send(links_.at(other), kCoordinator,
                          [there, plan, worker] { there->rejoin(plan, worker); });
    }
    if (!deploying_->awaited.empty()) return;
  }
  deploying_.reset();
  requests_.restore(plan, worker);
  mend();
}

void SimCoordinator::deploy_to(int worker, const cluster::Workers& set,
                               const cluster::DeployedPlanPtr& deployed) {
  SimWorker* there = workers_[static_cast<size_t>(worker)].get();
  const ConnectionPtr link = links_.at(worker);
  const size_t version = made_for_.at(deployed->id).first;
  world_.network.send(link, kCoordinator, [there, link, version, set, deployed] {
    there->deploy(link, version, set, *deployed);
  });
}

// Adds the plan to Requests before any worker knows of it, as PlanDeployer::deploy() does.
void SimCoordinator::begin_to_deploy(const cluster::Workers& set) {
  auto made = world_.scene.deployed(version_, set, next_plan_++);
  SHOAL_CHECK(made.ok());
  const auto deployed = std::make_shared<const cluster::DeployedPlan>(*std::move(made));
  const std::vector<int> uses = plan::workers_of(deployed->scheduled.plan());
  deploying_ = {set, {uses.begin(), uses.end()}, {uses.begin(), uses.end()}, deployed->id};
  deployed_plans_[deployed->id] = deployed;
  made_for_[deployed->id] = {version_, set};
  requests_.add(deployed);
  world_.note("deploy", static_cast<int64_t>(deployed->id), std::ssize(uses));
  for (int worker : uses) deploy_to(worker, set, deployed);
}

void SimCoordinator::finish_deploying() {
  Deploying done = *std::exchange(deploying_, std::nullopt);
  world_.note("ready", static_cast<int64_t>(done.id));
  policy_.add(std::move(done.set), done.id, std::move(done.uses));
  requests_.offer(kService, policy_.order(), true);
  mend();
}

void SimCoordinator::retire() {
  retire_plans(kService, present(), policy_, requests_, retired_,
               [this](uint64_t plan) { withdraw(plan); });
}

void SimCoordinator::upgrade() {
  world_.note("upgrade");
  ++version_;
  // Half-deployed plans of the old version must not be offered as plans of the new one.
  if (deploying_) stop_deploying();
  for (uint64_t plan : policy_.order()) retired_.insert(plan);
  policy_ = cluster::FailoverPolicy(true);
  mend();
}

uint64_t SimCoordinator::submit(size_t input, Time timeout) {
  const uint64_t request =
      requests_.submit(kService, std::span(&world_.scene.input(input), 1), now() + timeout);
  open_[request] = input;
  world_.note("submit", static_cast<int64_t>(request));
  world_.clock.after(timeout, [this] {
    requests_.expire(now());
    pump();
  });
  pump();
  return request;
}

// Carries out all steps of all open requests.
void SimCoordinator::pump() {
  std::vector<uint64_t> ended;
  for (const auto& [request, input] : open_) {
    while (requests_.has_step(request)) {
      cluster::RequestStep step = requests_.step(request);
      const bool over = step.end.has_value();
      if (over) {
        world_.note("end", static_cast<int64_t>(request),
                    static_cast<int64_t>(step.end->status.code()));
        ended_(request, *step.end);
        ended.push_back(request);
      }
      carry_out(std::move(step));
      if (over) break;
    }
  }
  for (uint64_t request : ended) open_.erase(request);
}

void SimCoordinator::carry_out(cluster::RequestStep step) {
  if (step.abandon) {
    const auto [deployed, attempt] = *step.abandon;
    tell(deployed,
         [plan = deployed->id, id = attempt](SimWorker& there) { there.forget(plan, id); });
  }
  if (step.begin && !step.end) send_inputs(*step.begin, step.sends);
}

void SimCoordinator::send_inputs(const cluster::Attempt& attempt,
                                 const std::vector<size_t>& sends) {
  world_.note("begin", static_cast<int64_t>(attempt.deployed->id),
              static_cast<int64_t>(attempt.id));
  const auto input = open_.find(requests_.request_of(attempt.id));
  if (input == open_.end()) return;
  const Tensor& whole = world_.scene.input(input->second);
  for (size_t i : sends) {
    const plan::Transfer& transfer = attempt.deployed->scheduled.schedule().transfers[i];
    const auto link = links_.find(transfer.to);
    if (link == links_.end()) continue;
    SimWorker* there = workers_[static_cast<size_t>(transfer.to)].get();
    world_.network.send(link->second, kCoordinator,
                        [this, there, attempt, to = transfer.to, piece = transfer.piece,
                         part = crop(whole, transfer.piece.region)] {
                          world_.reached(FaultPoint::kInputArrives, to);
                          there->take(attempt.deployed->id, attempt.id, piece, part);
                        });
  }
}

void SimCoordinator::tell(const cluster::DeployedPlanPtr& deployed,
                          const std::function<void(SimWorker&)>& what) {
  for (int worker : plan::workers_of(deployed->scheduled.plan())) {
    const auto link = links_.find(worker);
    if (link == links_.end()) continue;
    SimWorker* there = workers_[static_cast<size_t>(worker)].get();
    world_.network.send(link->second, kCoordinator, [there, what] { what(*there); });
  }
}

}  // namespace shoal::chaos
