// Simulation: a plan carried out in virtual time. What the planner promises is what this says.
#pragma once

#include <vector>

#include "shoal/plan/plan.h"
#include "shoal/plan/profile.h"

namespace shoal::plan {

struct Span {
  double begin = 0;
  double end = 0;
};

struct Timeline {
  double seconds = 0;                    // until the coordinator has the answer
  std::vector<std::vector<Span>> tasks;  // by segment and task
  std::vector<Span> transfers;           // as in the schedule
  std::vector<double> compute_seconds;   // by worker
  std::vector<double> transfer_seconds;  // by worker, sending and receiving
  double wire_bytes = 0;
};

Timeline simulate(const Graph& graph, const Plan& plan, const Schedule& schedule,
                  const ClusterProfile& cluster);

}  // namespace shoal::plan
