#include "shoal/plan/scheduled_plan.h"

#include <utility>

namespace shoal::plan {

Result<ScheduledPlan> ScheduledPlan::make(std::shared_ptr<const Graph> graph, Plan plan) {
  SHOAL_ASSIGN(Schedule schedule, make_schedule(*graph, plan));
  return ScheduledPlan(std::move(graph), std::make_shared<const Plan>(std::move(plan)),
                       std::make_shared<const Schedule>(std::move(schedule)));
}

Result<ScheduledPlan> ScheduledPlan::make(const Graph& graph, Plan plan) {
  return make(std::make_shared<const Graph>(graph), std::move(plan));
}

ScheduledPlan ScheduledPlan::with_wait(double seconds) const {
  // The schedule is shared with the old value: it does not depend on the wait.
  Plan plan = *plan_;
  plan.wait_seconds = seconds;
  return {graph_, std::make_shared<const Plan>(std::move(plan)), schedule_};
}

}  // namespace shoal::plan
