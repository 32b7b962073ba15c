// PlanRace: measures two plans for one model. They are carried out in turns, so that both find the
// same machines and the same network.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <vector>

#include "shoal/cluster/coordinator.h"
#include "shoal/plan/search/planner.h"

namespace shoal::cluster {

// A timeout for a request that should take so many seconds: generous, and a day at most.
std::chrono::milliseconds generous_timeout(double expected_seconds);

struct RaceOptions {
  double seconds = 3;  // to go on for, but for three rounds at least
  // Seconds that pass for each second of the predictions, where devices are emulated in slow
  // motion.
  double dilation = 1;
  std::function<void()> before_request = nullptr;
  std::function<void(double seconds)> progress = nullptr;  // seconds that passed, after each round
};

// Times are those of the predictions: divided by the dilation.
struct RaceResult {
  plan::Timeline first, second;  // of each plan's median request
  size_t rounds = 0;
};

// Not thread-safe.
class PlanRace {
 public:
  // Deploys both plans. REQUIRES: the coordinator outlives the race; both graphs take the same
  // inputs.
  static Result<std::unique_ptr<PlanRace>> deploy(Coordinator& coordinator, plan::Prediction first,
                                                  plan::Prediction second);

  // Fails with kInternal where the second plan's answer differs from the first one's by more than
  // rounding: a wrong answer has no time. Otherwise as RemotePlan::run().
  Result<RaceResult> run(const RaceOptions& options);

  // The least time of run(), in seconds of the predictions.
  double least_seconds() const;

 private:
  // A plan and its measured requests.
  struct Runner {
    plan::Prediction prediction;
    std::unique_ptr<RemotePlan> deployed;
    std::vector<plan::Timeline> runs = {};
    std::vector<Tensor> answer = {};
  };

  explicit PlanRace(std::vector<Tensor> inputs) : inputs_(std::move(inputs)) {}
  Status ask(Runner& runner, const RaceOptions& options) const;
  Status compare_answers() const;

  const std::vector<Tensor> inputs_;
  std::vector<Runner> runners_;  // two
};

}  // namespace shoal::cluster
