// The search depends on the kinds of the workers that are there and not on their places, so that a
// thousand equal workers take one search for each size of a team. The plan found is then told the
// places, which takes a new schedule but no search.
#include "shoal/cluster/chaos/day/team_plans.h"

#include <algorithm>

#include "shoal/cluster/coordinator/policy/attempt_window.h"
#include "shoal/plan/cost/plan_stats.h"

namespace shoal::chaos {
namespace {

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
