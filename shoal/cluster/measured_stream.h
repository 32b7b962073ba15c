// MeasuredStream: plans for a stream of requests, deployed in order to measure them.
#pragma once

#include <memory>
#include <vector>

#include "shoal/cluster/coordinator.h"
#include "shoal/plan/stream/stream.h"

namespace shoal::cluster {

// Not thread-safe.
class MeasuredStream {
 public:
  // REQUIRES: the coordinator outlives the stream.
  static Result<std::unique_ptr<MeasuredStream>> deploy(Coordinator& coordinator,
                                                        plan::StreamPrediction prediction);

  // Sends requests, as many at once as the prediction has in flight, and returns the seconds
  // between two answers, divided by `dilation`. Fails as RemotePlan::run() does.
  Result<double> period(double dilation = 1);

 private:
  explicit MeasuredStream(plan::StreamPrediction prediction) : prediction_(std::move(prediction)) {}

  const plan::StreamPrediction prediction_;
  std::vector<std::unique_ptr<RemotePlan>> turns_;
};

}  // namespace shoal::cluster
