#include "shoal/cluster/chaos/processes/equal_plans.h"

#include "shoal/plan/search/choices.h"

namespace shoal::cluster {
namespace {

// The worker that takes each place. Workers with a high number fill the places of missing ones; the
// others stay where they are, and keep their compiled tasks and weights.
std::vector<int> takers_of(const Workers& set) {
  const int count = static_cast<int>(set.size());
  std::vector<int> takers;
  auto substitute = set.lower_bound(count);
  for (int place = 0; place < count; ++place) {
    takers.push_back(set.contains(place) ? place : *substitute++);
  }
  return takers;
}

}  // namespace

plan::ClusterProfile equal_workers(size_t count) {
  constexpr double kMacs = 4e9, kBytes = 4e9;
  plan::LinkProfile link;
  link.latency_seconds = 0.1e-3;
  link.bytes_per_second = 500e6;
  plan::ClusterProfile profile;
  for (size_t i = 0; i < count; ++i) {
    profile.workers.push_back(plan::uniform_worker("worker-" + std::to_string(i), kMacs, kBytes));
    profile.links.push_back(link);
  }
  return profile;
}

Result<plan::Prediction> EqualPlans::plan_for(const Workers& set) {
  // One search for each size of a set, instead of one for each of 2^n sets.
  if (!made_.contains(set.size())) {
    Workers first;
    for (int w = 0; w < std::ssize(set); ++w) first.insert(w);
    SHOAL_ASSIGN(auto made, plan::make_plan_for(first, graph_, workers_, options_));
    made_.emplace(set.size(), std::move(made));
  }
  plan::Prediction prediction = made_.at(set.size());
  plan::Plan plan = prediction.plan();
  const std::vector<int> takers = takers_of(set);
  for (plan::Segment& segment : plan.segments) {
    for (plan::Task& task : segment.tasks) task.worker = takers[static_cast<size_t>(task.worker)];
  }
  SHOAL_ASSIGN(prediction.scheduled,
               plan::ScheduledPlan::make(prediction.scheduled.shared_graph(), std::move(plan)));
  return prediction;
}

}  // namespace shoal::cluster
