// ScheduledPlan: a plan, the graph it is for, and the schedule that follows from the two.
#pragma once

#include <memory>

#include "shoal/plan/plan.h"

namespace shoal::plan {

// An immutable value. Copies share the graph, the plan and the schedule, so that the planner, the
// coordinator and every request on its way hold the same ones. Any thread may use any copy.
class ScheduledPlan {
 public:
  // Works out the schedule. Fails where the pieces do not give what a later segment reads.
  // REQUIRES: the segments cover the graph, as verify() checks.
  static Result<ScheduledPlan> make(std::shared_ptr<const Graph> graph, Plan plan);
  static Result<ScheduledPlan> make(const Graph& graph, Plan plan);  // copies the graph

  const Graph& graph() const { return *graph_; }
  const Plan& plan() const { return *plan_; }
  const Schedule& schedule() const { return *schedule_; }
  const std::shared_ptr<const Graph>& shared_graph() const { return graph_; }

  // The same plan with another Plan::wait_seconds, which the schedule does not depend on.
  ScheduledPlan with_wait(double seconds) const;

 private:
  ScheduledPlan(std::shared_ptr<const Graph> graph, std::shared_ptr<const Plan> plan,
                std::shared_ptr<const Schedule> schedule)
      : graph_(std::move(graph)), plan_(std::move(plan)), schedule_(std::move(schedule)) {}

  std::shared_ptr<const Graph> graph_;
  std::shared_ptr<const Plan> plan_;
  std::shared_ptr<const Schedule> schedule_;
};

}  // namespace shoal::plan
