// MeasuredStream: plans for a stream of requests, deployed in order to measure them.
#pragma once

#include <functional>
#include <memory>

#include "shoal/cluster/coordinator/runtime/failover_deployment.h"
#include "shoal/plan/stream/stream.h"

namespace shoal::cluster {

// Not thread-safe.
class MeasuredStream {
 public:
  using Plan = std::function<Result<plan::StreamPrediction>(const Workers&)>;

  // `plan_again` makes plans when a worker is lost or joins, on another thread; without it,
  // requests fail then. REQUIRES: the coordinator outlives the stream.
  static Result<std::unique_ptr<MeasuredStream>> deploy(Coordinator& coordinator,
                                                        plan::StreamPrediction prediction,
                                                        Plan plan_again = nullptr);

  // Sends requests, as many at once as the prediction has in flight, and returns the seconds
  // between two answers, divided by `dilation`. If plans change meanwhile, it measures again. Fails
  // as FailoverDeployment::run() does.
  Result<double> period(double dilation = 1);

 private:
  MeasuredStream(plan::StreamPrediction prediction, Plan plan_again)
      : prediction_(std::move(prediction)), plan_again_(std::move(plan_again)) {}
  Result<Turns> plan(const Workers& set);

  const plan::StreamPrediction prediction_;
  const Plan plan_again_;
  bool is_first_ = true;
  std::unique_ptr<FailoverDeployment> deployment_;  // first to go: it uses the rest
};

}  // namespace shoal::cluster
