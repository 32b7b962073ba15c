// EqualPlans: workers that are all alike need one plan for every number of them, and whoever stays
// keeps its place in it when another goes.
#pragma once

#include <map>

#include "shoal/cluster/failover_policy.h"
#include "shoal/plan/search/planner.h"

namespace shoal::cli {

// Every worker is as fast as the others, as processes of one machine are.
plan::ClusterProfile equal_workers(size_t count);

class EqualPlans {
 public:
  EqualPlans(Graph graph, plan::ClusterProfile workers, plan::PlanOptions options)
      : graph_(std::move(graph)), workers_(std::move(workers)), options_(std::move(options)) {}

  // Where fewer are left than would be needed to survive so many losses, those that they can.
  Result<plan::Prediction> plan_for(const cluster::Workers& set);

 private:
  const Graph graph_;
  const plan::ClusterProfile workers_;
  const plan::PlanOptions options_;
  std::map<size_t, plan::Prediction> made_;  // for the first so many workers
};

// Of workers that are not alike: for exactly these.
Result<plan::Prediction> plan_for(const Graph& graph, const plan::ClusterProfile& workers,
                                  plan::PlanOptions options, const cluster::Workers& set);

}  // namespace shoal::cli
