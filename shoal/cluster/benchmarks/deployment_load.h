// DeploymentLoad: measures requests of one model while the weights of another travel, and what it
// costs to interrupt that deployment in the middle.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>

#include "shoal/base/timing/latency_recorder.h"
#include "shoal/cluster/coordinator/runtime/coordinator.h"

namespace shoal::cluster {

// Times are divided by the dilation.
struct DeploymentFigures {
  LatencyRecorder calm, busy;  // in ms, before weights travel and while they do
  uint64_t needed = 0;         // bytes of weights that workers lacked
  uint64_t sent = 0;           // bytes of weights that were sent to them
  uint64_t asked = 0;          // bytes of inputs and outputs meanwhile
  double seconds = 0;          // that weights travelled
};

struct DeploymentLoadOptions {
  plan::ScheduledPlan small, large;
  // Deploys a plan by another coordinator, which ends with it. Made with interrupter(), it fails.
  std::function<Status(const plan::ScheduledPlan&)> deploy_half;
  double seconds = 3;  // to measure the small one alone for
  double dilation = 1;
};

// Not thread-safe.
class DeploymentLoad {
 public:
  using Progress = std::function<Status(const WeightsProgress&)>;

  // For DeployOptions::progress of the coordinator that run() is given, and of the other one.
  // REQUIRES: this outlives them.
  Progress observer();
  Progress interrupter();

  // Asks the small plan all the time, by `coordinator`, which also deploys the large one when half
  // of it is there.
  Result<DeploymentFigures> run(Coordinator& coordinator, const DeploymentLoadOptions& options);

 private:
  using Clock = std::chrono::steady_clock;

  // The weights of one deployment.
  struct Travel : WeightProgress {
    std::optional<Clock::time_point> begin;
    Clock::time_point end;

    void observe(const WeightsProgress& progress);
    double seconds() const;
  };

  Travel first_, second_;  // written by the thread that deploys
  std::atomic<bool> travelling_ = false;
};

}  // namespace shoal::cluster
