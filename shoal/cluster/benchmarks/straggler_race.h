// StragglerRace: measures a plan with redundancy beside one that waits for all of its workers,
// while one worker is slow: another one in every round.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <thread>

#include "shoal/base/timing/latency_recorder.h"
#include "shoal/cluster/coordinator/runtime/coordinator.h"
#include "shoal/plan/search/planner.h"

namespace shoal::cluster {

struct StragglerOptions {
  using Seconds = std::chrono::duration<double>;

  double seconds = 3;  // to go on for, but for one round at least
  // Real seconds per second of the predictions, if devices are emulated in slow motion.
  double dilation = 1;
  double times = 10;  // factor by which a slow worker takes longer
  // Slows one worker down, from the next task on, and restores the speed of all others.
  std::function<Status(const std::string& worker)> slow_down;
  std::function<void(Seconds)> pause = [](Seconds time) { std::this_thread::sleep_for(time); };
};

// In milliseconds of the predictions: divided by the dilation.
struct StragglerResult {
  LatencyRecorder first, second;
};

// Not thread-safe.
class StragglerRace {
 public:
  // Deploys both plans. REQUIRES: the coordinator outlives the race.
  static Result<std::unique_ptr<StragglerRace>> deploy(Coordinator& coordinator,
                                                       plan::Prediction first,
                                                       plan::Prediction second);

  // In every round, slows a random worker down, then runs both plans, with a pause between the two
  // in which the slow worker finishes the first plan's task. Fails as slow_down() and
  // RemotePlan::run() do.
  Result<StragglerResult> run(const StragglerOptions& options);

 private:
  struct Runner {
    plan::Prediction prediction;
    std::unique_ptr<RemotePlan> deployed;
  };

  StragglerRace(Coordinator& coordinator, Runner first, Runner second)
      : coordinator_(coordinator), first_(std::move(first)), second_(std::move(second)) {}
  Status ask(const Runner& runner, const StragglerOptions& options, LatencyRecorder& latencies);

  Coordinator& coordinator_;
  const Runner first_, second_;
  std::mt19937 random_{7};  // a fixed seed: races can be repeated
};

}  // namespace shoal::cluster
