#include "equal_plans.h"

#include <algorithm>

namespace shoal::cli {
namespace {

// By place: who takes it. Those with a high number take the places of who is missing, so that the
// others stay where they are and need nothing new.
std::vector<int> places(const cluster::Workers& set) {
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
  plan::ClusterProfile profile;
  for (size_t i = 0; i < count; ++i) {
    constexpr double kMacs = 4e9, kBytes = 4e9;
    profile.workers.push_back(plan::uniform_worker("worker-" + std::to_string(i), kMacs, kBytes));
    plan::LinkProfile link;
    link.latency_seconds = 0.1e-3;
    link.bytes_per_second = 500e6;
    profile.links.push_back(link);
  }
  return profile;
}

Result<plan::Prediction> plan_for(const Graph& graph, const plan::ClusterProfile& workers,
                                  plan::PlanOptions options, const cluster::Workers& set) {
  options.survive = std::min(options.survive, static_cast<int>(set.size()) - 1);
  for (int w = 0; w < std::ssize(workers.workers); ++w) {
    if (!set.contains(w)) options.excluded.push_back(w);
  }
  SHOAL_ASSIGN(auto plans, plan::make_plans(graph, workers, options));
  return std::move(plans.front());
}

Result<plan::Prediction> EqualPlans::plan_for(const cluster::Workers& set) {
  if (!made_.contains(set.size())) {
    cluster::Workers first;
    for (int w = 0; w < std::ssize(set); ++w) first.insert(w);
    SHOAL_ASSIGN(auto made, cli::plan_for(graph_, workers_, options_, first));
    made_.emplace(set.size(), std::move(made));
  }
  plan::Prediction prediction = made_.at(set.size());
  const std::vector<int> takers = places(set);
  const auto taken_by = [&](int place) { return takers[static_cast<size_t>(place)]; };
  for (plan::Segment& segment : prediction.plan.segments) {
    for (plan::Task& task : segment.tasks) task.worker = taken_by(task.worker);
  }
  SHOAL_ASSIGN(prediction.schedule, plan::make_schedule(prediction.graph, prediction.plan));
  return prediction;
}

}  // namespace shoal::cli
