// EqualPlans: plans for equal workers, one for each number of them. A worker that stays keeps its
// place when another leaves, so that it needs no new weights.
#pragma once

#include <map>

#include "shoal/cluster/coordinator/policy/failover_policy.h"
#include "shoal/plan/search/planner.h"

namespace shoal::cluster {

// A profile of `count` equally fast workers, such as processes of one machine.
plan::ClusterProfile equal_workers(size_t count);

// Not thread-safe: a FailoverDeployment asks for one plan at a time.
class EqualPlans {
 public:
  EqualPlans(Graph graph, plan::ClusterProfile workers, plan::PlanOptions options)
      : graph_(std::move(graph)), workers_(std::move(workers)), options_(std::move(options)) {}

  // A plan that uses these workers only; see plan::for_workers() for how many losses it survives.
  Result<plan::Prediction> plan_for(const Workers& set);

 private:
  const Graph graph_;
  const plan::ClusterProfile workers_;
  const plan::PlanOptions options_;
  std::map<size_t, plan::Prediction> made_;  // by size of the set: for workers 0 to size - 1
};

}  // namespace shoal::cluster
