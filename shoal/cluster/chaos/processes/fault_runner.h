// FaultRunner: injects the faults of a plan into the worker processes of a ChaosCluster.
#pragma once

#include <chrono>
#include <functional>
#include <optional>

#include "shoal/cluster/chaos/fault_plan.h"
#include "shoal/cluster/chaos/processes/chaos_cluster.h"

namespace shoal::chaos {

class FaultRunner {
 public:
  // The cluster outlives it.
  explicit FaultRunner(ChaosCluster& cluster) : cluster_(cluster) {}

  // Sets the breakpoint for a fault at a point. To be called before the request that it is to meet
  // is sent, so that no worker gets past the point unnoticed.
  void prepare(const FaultEvent& event);

  // Waits for the point, or for the event's share of `request`, calls `began`, does the fault, and
  // returns when the workers have all that they had before. False: no worker got to the point, and
  // the fault was done all the same. Times are those of the emulated world.
  // REQUIRES: always called on the same thread, which outlives the cluster: it restarts workers
  // (base/processes/process.h).
  Result<bool> run(const FaultEvent& event, std::chrono::duration<double> request,
                   const std::function<void()>& began);

 private:
  bool wait_for_point();
  Status apply(const FaultAction& action);
  void wait(std::chrono::milliseconds time);
  void wait_until_damaged(const FaultAction& damage, int worker);
  void sleep(std::chrono::milliseconds time) const;

  ChaosCluster& cluster_;
  std::optional<size_t> slowed_;  // a worker
};

}  // namespace shoal::chaos
