// DeploymentLoad: measures requests to one model while the weights of another are sent, and the
// cost of interrupting that deployment halfway.
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

  // For DeployOptions::progress of both coordinators.
  // REQUIRES: this outlives them.
  Progress observer();
  Progress interrupter();

  // Sends requests to the small plan all the time by `coordinator`, which deploys the large one
  // after half of it was sent.
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
