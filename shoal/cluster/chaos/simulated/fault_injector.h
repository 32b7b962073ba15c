// FaultInjector: injects the faults of a plan into a simulated cluster.
#pragma once

#include <memory>
#include <vector>

#include "shoal/cluster/chaos/fault_plan.h"
#include "shoal/cluster/chaos/simulated/sim_worker.h"

namespace shoal::chaos {

class FaultInjector {
 public:
  // Does the next `count` faults of the plan, at points of requests or at moments before `end`. All
  // outlive it, and it outlives the run of the clock.
  FaultInjector(World& world, std::vector<std::unique_ptr<SimWorker>>& workers, FaultPlan& plan,
                int count, Time end);
  FaultInjector(const FaultInjector&) = delete;
  FaultInjector& operator=(const FaultInjector&) = delete;

 private:
  // A fault that waits for its worker to get to a point.
  struct Waiting {
    FaultEvent event;
    int64_t passes;  // that the worker gets there before
  };

  void reached(FaultPoint point, int worker);
  void begin(const FaultEvent& event);
  void apply(const FaultAction& action);

  World& world_;
  std::vector<std::unique_ptr<SimWorker>>& workers_;
  std::vector<Waiting> waiting_;
};

}  // namespace shoal::chaos
