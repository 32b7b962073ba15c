// PlanRace: measures two plans for one model. They run in turns, so that both find the same
// machines and the same network.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <vector>

#include "shoal/cluster/coordinator/runtime/failover_deployment.h"
#include "shoal/plan/search/planner.h"

namespace shoal::cluster {

// A timeout for a request that is expected to take this long: generous, and a day at most.
std::chrono::milliseconds generous_timeout(double expected_seconds);

struct RaceOptions {
  double seconds = 3;  // to go on for, but for three rounds at least
  // Real seconds per second of the predictions, if devices are emulated in slow motion.
  double dilation = 1;
  std::function<void()> before_request = nullptr;
  std::function<void(double seconds)> progress = nullptr;  // seconds that passed, after each round
  std::function<void()> begins_again = nullptr;            // because a worker was lost or has come
};

// Times are those of the predictions: divided by the dilation.
struct RaceResult {
  plan::Timeline first, second;  // of each plan's median request
  size_t rounds = 0;
};

// A plan to be measured.
struct Contender {
  plan::Prediction prediction;
  // Makes the plan again for other workers when one is lost or joins, on another thread. nullptr:
  // the race fails then.
  std::function<Result<plan::Prediction>(const Workers&)> plan_again = nullptr;
};

// Not thread-safe.
class PlanRace {
 public:
  // Deploys both plans. REQUIRES: the coordinator outlives the race; all graphs have equal inputs.
  static Result<std::unique_ptr<PlanRace>> deploy(Coordinator& coordinator, Contender first,
                                                  Contender second);

  // If a worker is lost or joins, both are measured again by their new plans. Fails with
  // kUnavailable if that happens too often, and with kInternal if the answers of the two plans
  // differ by more than rounding: a wrong answer has no time. Otherwise as
  // FailoverDeployment::run().
  Result<RaceResult> run(const RaceOptions& options);

  // The plans that were measured last.
  plan::Prediction first() const { return runners_[0]->deployed(); }
  plan::Prediction second() const { return runners_[1]->deployed(); }

  // The least time of run(), in seconds of the predictions.
  double least_seconds() const;

 private:
  // A plan and its measured requests.
  class Runner {
   public:
    static Result<std::unique_ptr<Runner>> deploy(Coordinator& coordinator, Contender contender);

    plan::Prediction deployed() const;
    size_t changes() const { return deployment_->changes(); }
    Status ask(std::span<const Tensor> inputs, const RaceOptions& options);

    std::vector<plan::Timeline> runs;
    std::vector<Tensor> answer;

   private:
    explicit Runner(Contender contender)
        : plan_again_(std::move(contender.plan_again)), made_{std::move(contender.prediction)} {}
    Result<Turns> plan(const Workers& set);

    const std::function<Result<plan::Prediction>(const Workers&)> plan_again_;
    mutable std::mutex mutex_;
    bool is_first_ = true;
    std::vector<plan::Prediction> made_;
    std::unique_ptr<FailoverDeployment> deployment_;  // first to go: it uses the rest
  };

  explicit PlanRace(std::vector<Tensor> inputs) : inputs_(std::move(inputs)) {}
  size_t changes() const { return runners_[0]->changes() + runners_[1]->changes(); }
  void begin_again();
  Status compare_answers() const;

  const std::vector<Tensor> inputs_;
  std::vector<std::unique_ptr<Runner>> runners_;  // two
};

}  // namespace shoal::cluster
