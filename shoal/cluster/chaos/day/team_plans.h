// TeamPlans: plans for teams of workers, searched once for all teams that are alike.
#pragma once

#include <map>
#include <memory>
#include <utility>
#include <vector>

#include "shoal/cluster/coordinator/policy/failover_policy.h"
#include "shoal/plan/hierarchy/levels.h"
#include "shoal/plan/search/planner.h"

namespace shoal::chaos {

// A plan for some places of a team.
struct TeamPlan {
  plan::ScheduledPlan scheduled;  // its workers are places
  cluster::Workers uses;
  double seconds = 0;          // of one answer
  double period_seconds = 0;   // between two, while many requests are on their way
  std::vector<double> giving;  // by place: seconds until it has its weights
  std::vector<std::pair<plan::Piece, Tensor>> answer;  // what comes to the coordinator
};
using TeamPlanPtr = std::shared_ptr<const TeamPlan>;

// Not thread-safe.
class TeamPlans {
 public:
  // `groups` say which workers are similar. All outlive it.
  TeamPlans(const Graph& graph, const plan::ClusterProfile& cluster,
            const std::vector<plan::Choices::Group>& groups);

  // The plan that make_plans() finds for these places of a team, as if similar workers were equal.
  Result<TeamPlanPtr> find(const std::vector<int>& team, const cluster::Workers& places);

  uint64_t searches() const { return found_.size(); }

 private:
  using Kinds = std::vector<size_t>;  // groups, by place

  struct Found {
    Result<plan::Prediction> made;
    double period_seconds = 0;
  };

  const Found& search(const Kinds& kinds);
  plan::ClusterProfile cluster_of(const Kinds& kinds) const;
  Result<TeamPlanPtr> make(const Kinds& kinds, const cluster::Workers& places);

  const Graph& graph_;
  const plan::ClusterProfile& cluster_;
  const std::vector<plan::Choices::Group>& groups_;
  std::vector<size_t> kinds_;  // by worker
  std::map<Kinds, Found> found_;
  std::map<std::pair<Kinds, cluster::Workers>, TeamPlanPtr> made_;  // by the team's kinds
};

}  // namespace shoal::chaos
