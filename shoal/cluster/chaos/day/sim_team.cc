// The shell around Requests and FailoverPolicy for a day's worth of requests. It takes the steps of
// FailoverDeployment, but a request is one event and not one for each message: an attempt that
// begins at t ends at
//
//   end = max(t + seconds, end of the attempt before + period)
//
// with the seconds of one answer and the period of many, both from the planner's simulation. An
// attempt whose worker is lost on the way does not end; Requests replays it when the loss is
// noticed.

#include "shoal/cluster/chaos/day/sim_team.h"

#include <algorithm>
#include <limits>

#include "shoal/cluster/coordinator/policy/attempt_window.h"
#include "shoal/plan/cost/plan_stats.h"

namespace shoal::chaos {
namespace {

using namespace std::chrono_literals;

constexpr uint64_t kService = 1;
constexpr Time kLookAgain = 1s, kGrace = 2s;
// A search among a few workers, on a small computer.
constexpr Time kPlanning = 1s;

Time in_time(double seconds) { return Time(static_cast<int64_t>(1e9 * seconds)); }

// The period of requests that follow each other as closely as the window lets them.
double period_of(const plan::ScheduledPlan& scheduled, const plan::ClusterProfile& cluster) {
  const size_t window = cluster::window_of(scheduled.plan());
  return 1 / plan::simulate_stream(std::span(&scheduled, 1), cluster, 8 * window, window)
                 .requests_per_second();
}

plan::Plan at_places(plan::Plan plan, const std::vector<int>& places) {
  for (plan::Segment& segment : plan.segments) {
    for (plan::Task& task : segment.tasks) task.worker = places[static_cast<size_t>(task.worker)];
  }
  return plan;
}

// Seconds that each worker's weights are on their way from the coordinator.
std::vector<double> seconds_to_give(const plan::ScheduledPlan& scheduled,
                                    const plan::ClusterProfile& team) {
  std::vector<double> bytes(team.workers.size());
  for (size_t s = 0; s < scheduled.plan().segments.size(); ++s) {
    const std::vector<plan::Task>& tasks = scheduled.plan().segments[s].tasks;
    for (size_t t = 0; t < tasks.size(); ++t) {
      bytes[static_cast<size_t>(tasks[t].worker)] +=
          weight_bytes(scheduled.graph(), scheduled.schedule().parts[s][t]);
    }
  }
  std::vector<double> seconds;
  for (size_t w = 0; w < bytes.size(); ++w) {
    seconds.push_back(plan::seconds_of(bytes[w], team.coordinator, team.links[w]));
  }
  return seconds;
}

}  // namespace

SimTeam::SimTeam(Clock& clock, TeamPlans& plans, std::vector<int> members,
                 const cluster::Workers& away, Ended ended)
    : clock_(clock),
      plans_(plans),
      workers_(std::move(members)),
      ended_(std::move(ended)),
      members_(workers_.size()) {
  for (int place = 0; place < std::ssize(members_); ++place) {
    Member& member = members_[static_cast<size_t>(place)];
    member.up = member.linked = !away.contains(place);
  }
  mend();
}

cluster::Workers SimTeam::present() const {
  cluster::Workers all;
  for (int place = 0; place < std::ssize(members_); ++place) {
    if (members_[static_cast<size_t>(place)].linked) all.insert(place);
  }
  return all;
}

void SimTeam::submit(std::span<const Tensor> inputs, Time timeout, uint64_t client) {
  set_time();
  open_[requests_.submit(kService, inputs, now() + timeout, client)] = clock_.now();
  pump();
}

void SimTeam::expire() {
  if (open_.empty()) return;
  set_time();
  requests_.expire(now());
  pump();
}

void SimTeam::lose(int place, Time noticed_after) {
  Member& member = members_[static_cast<size_t>(place)];
  member.up = false;
  ++member.life;
  std::erase_if(under_way_, [&](const auto& entry) { return has(place, *entry.second); });
  if (!member.linked) return;
  clock_.after(noticed_after, [this, place, life = member.life] {
    // It may be back already, but without its plans.
    if (members_[static_cast<size_t>(place)].life == life) notice(place);
  });
}

void SimTeam::notice(int place) {
  set_time();
  Member& member = members_[static_cast<size_t>(place)];
  member.linked = false;
  lost_at_ = clock_.now();
  requests_.lose(place, Status(Code::kUnavailable, "worker is gone"));
  stop_deploying_with(place);
  mend();
  clock_.after(kGrace, [this] { mend(); });
  if (member.up) clock_.after(kLookAgain, [this, place] { reach(place); });
}

void SimTeam::come_back(int place) {
  members_[static_cast<size_t>(place)].up = true;
  clock_.after(kLookAgain, [this, place] { reach(place); });
}

// Until a loss is noticed, the coordinator counts on the worker: notice() looks again.
void SimTeam::reach(int place) {
  Member& member = members_[static_cast<size_t>(place)];
  if (!member.up || member.linked) return;
  member.linked = true;
  policy_.forgive();
  mend();
}

// As FailoverDeployment::mend(), except that deploying takes time and this returns at once.
void SimTeam::mend() {
  set_time();
  const cluster::Workers there = present();
  const auto whole = [this](uint64_t plan) { return requests_.is_whole(plan); };
  while (!deploying_ && !restore()) {
    const bool waits = there.size() < members_.size() && clock_.now() < lost_at_ + kGrace;
    const auto set = policy_.next(there, whole, !waits);
    if (!set) {
      if (!waits) retire();
      break;
    }
    if (const auto plan = plans_.find(workers_, *set); plan.ok()) {
      deploy(*set, *plan);
    } else {
      policy_.refuse(*set);
    }
  }
  if (there.empty()) {
    requests_.give_up(kService, Status(Code::kUnavailable, "no worker is left"));
  }
  pump();
  const std::vector<uint64_t> order = policy_.order();
  const auto first = std::ranges::find_if(order, whole);
  current_ = first == order.end() ? nullptr : deployed_.at(*first);
}

// Gives a worker that came back one of the plans that it had. Returns whether there is such a plan.
bool SimTeam::restore() {
  const auto whole = [this](uint64_t plan) { return requests_.is_whole(plan); };
  const std::vector<uint64_t> plans = policy_.restorable(present(), whole);
  if (plans.empty()) return false;
  const uint64_t plan = plans.front();
  const int place = requests_.missing(plan).front();
  begin_deploying({{}, plan, place},
                  in_time(deployed_.at(plan)->giving[static_cast<size_t>(place)]));
  return true;
}

void SimTeam::deploy(const cluster::Workers& set, const TeamPlanPtr& plan) {
  const uint64_t id = next_plan_++;
  deployed_[id] = plan;
  requests_.add(
      std::make_shared<const cluster::DeployedPlan>(cluster::DeployedPlan{id, plan->scheduled}));
  double seconds = 0;  // one worker after the other, over the coordinator's link
  for (int place : plan->uses) seconds += plan->giving[static_cast<size_t>(place)];
  begin_deploying({set, id}, kPlanning + in_time(seconds));
}

void SimTeam::begin_deploying(Deploying what, Time takes) {
  what.turn = next_turn_++;
  deploying_ = std::move(what);
  clock_.after(takes, [this, turn = deploying_->turn] {
    if (deploying_ && deploying_->turn == turn) finish_deploying();
  });
}

void SimTeam::finish_deploying() {
  set_time();
  const Deploying done = *std::exchange(deploying_, std::nullopt);
  if (done.restored) {
    ++counts_.restored;
    requests_.restore(done.plan, *done.restored);
  } else {
    ++counts_.deployed;
    policy_.add(done.set, done.plan, deployed_.at(done.plan)->uses);
    requests_.offer(kService, policy_.order(), true);
  }
  mend();
}

void SimTeam::stop_deploying_with(int place) {
  if (!deploying_ || !has(place, *deployed_.at(deploying_->plan))) return;
  const Deploying stopped = *std::exchange(deploying_, std::nullopt);
  if (!stopped.restored) withdraw(stopped.plan);
}

void SimTeam::withdraw(uint64_t plan) {
  requests_.remove(plan);
  deployed_.erase(plan);
}

// The policy's plans are offered, the others withdrawn when no request uses them any more.
void SimTeam::retire() {
  const auto whole = [&](uint64_t plan) { return requests_.is_whole(plan); };
  for (uint64_t plan : policy_.retire(present(), whole)) retired_.insert(plan);
  // An empty offer would end the service.
  if (!policy_.order().empty()) requests_.offer(kService, policy_.order(), true);
  std::erase_if(retired_, [&](uint64_t plan) {
    // Requests that began by a retired plan end by it.
    if (requests_.in_use(plan)) return false;
    withdraw(plan);
    return true;
  });
}

// Carries out all steps of all open requests.
void SimTeam::pump() {
  std::vector<uint64_t> ended;
  for (const auto& [request, came] : open_) {
    while (requests_.has_step(request)) {
      const cluster::RequestStep step = requests_.step(request);
      if (step.abandon) under_way_.erase(step.abandon->id);
      if (step.end) {
        ended_(*step.end, clock_.now() - came);
        ended.push_back(request);
        break;
      }
      if (step.begin) begin(*step.begin);
    }
  }
  for (uint64_t request : ended) open_.erase(request);
}

void SimTeam::begin(const cluster::Attempt& attempt) {
  const TeamPlanPtr& plan = deployed_.at(attempt.deployed->id);
  const Time end =
      std::max(clock_.now() + in_time(plan->seconds), busy_until_ + in_time(plan->period_seconds));
  busy_until_ = end;
  // Inputs for a worker that is gone, but not yet noticed, are lost.
  const auto is_up = [&](int place) { return members_[static_cast<size_t>(place)].up; };
  if (!std::ranges::all_of(plan->uses, is_up)) return;
  under_way_[attempt.id] = plan;
  clock_.after(end - clock_.now(), [this, id = attempt.id] { arrive(id); });
}

void SimTeam::arrive(uint64_t attempt) {
  const auto it = under_way_.find(attempt);
  if (it == under_way_.end()) return;
  const TeamPlanPtr plan = it->second;
  under_way_.erase(it);
  set_time();
  for (const auto& [piece, elements] : plan->answer) requests_.arrive(attempt, piece, elements);
  pump();
}

double SimTeam::expected_seconds() const {
  if (current_ == nullptr) return std::numeric_limits<double>::infinity();
  return current_->seconds + static_cast<double>(open_.size()) * current_->period_seconds;
}

TeamPlans::TeamPlans(const Graph& graph, const plan::ClusterProfile& cluster,
                     const std::vector<plan::Choices::Group>& groups)
    : graph_(graph), cluster_(cluster), groups_(groups), kinds_(cluster.workers.size()) {
  for (size_t g = 0; g < groups.size(); ++g) {
    for (int worker : groups[g]) kinds_[static_cast<size_t>(worker)] = g;
  }
}

Result<TeamPlanPtr> TeamPlans::find(const std::vector<int>& team, const cluster::Workers& places) {
  Kinds kinds;
  for (int worker : team) kinds.push_back(kinds_[static_cast<size_t>(worker)]);
  TeamPlanPtr& known = made_[{kinds, places}];
  if (known == nullptr) {
    SHOAL_ASSIGN(known, make(kinds, places));
  }
  return known;
}

// The first worker of a group stands for all.
plan::ClusterProfile TeamPlans::cluster_of(const Kinds& kinds) const {
  plan::ClusterProfile cluster;
  cluster.coordinator = cluster_.coordinator;
  cluster.keep_awake = cluster_.keep_awake;
  for (size_t kind : kinds) {
    const int first = groups_[kind].front();
    cluster.workers.push_back(cluster_.workers[static_cast<size_t>(first)]);
    cluster.links.push_back(cluster_.link_of(first));
  }
  return cluster;
}

const TeamPlans::Found& TeamPlans::search(const Kinds& kinds) {
  const auto known = found_.find(kinds);
  if (known != found_.end()) return known->second;
  const plan::ClusterProfile cluster = cluster_of(kinds);
  auto plans = plan::make_plans(graph_, cluster);
  if (!plans.ok()) return found_.emplace(kinds, Found{plans.status()}).first->second;
  plan::Prediction best = std::move(plans->front());
  const double period = period_of(best.scheduled, cluster);
  return found_.emplace(kinds, Found{std::move(best), period}).first->second;
}

Result<TeamPlanPtr> TeamPlans::make(const Kinds& kinds, const cluster::Workers& places) {
  const std::vector<int> at(places.begin(), places.end());
  Kinds present;
  for (int place : at) present.push_back(kinds[static_cast<size_t>(place)]);
  const auto& [made, period] = search(present);
  if (!made.ok()) return made.status();
  SHOAL_ASSIGN(
      plan::ScheduledPlan scheduled,
      plan::ScheduledPlan::make(made->scheduled.shared_graph(), at_places(made->plan(), at)));
  const std::vector<int> used = plan::workers_of(scheduled.plan());
  TeamPlan result{scheduled,
                  {used.begin(), used.end()},
                  made->timeline.seconds,
                  period,
                  seconds_to_give(scheduled, cluster_of(kinds)),
                  {}};
  for (const plan::Transfer& transfer : scheduled.schedule().transfers) {
    if (transfer.to != plan::kCoordinator) continue;
    const DType dtype = scheduled.graph()[transfer.piece.value].type.dtype;
    result.answer.push_back({transfer.piece, Tensor({dtype, transfer.piece.region.shape()})});
  }
  return std::make_shared<const TeamPlan>(std::move(result));
}

}  // namespace shoal::chaos
