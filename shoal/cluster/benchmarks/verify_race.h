// The cost of checking requests for lies: one plan with and without it, in turns.
#pragma once

#include <functional>
#include <map>
#include <string>

#include "shoal/base/timing/latency_recorder.h"
#include "shoal/cluster/coordinator/runtime/coordinator.h"
#include "shoal/engine/device/device.h"
#include "shoal/plan/search/planner.h"

namespace shoal::cluster {

struct VerifyRaceOptions {
  uint64_t every = 10;  // one request of `every` is checked
  double seconds = 3;   // to go on for, but for three rounds at least
  // Real seconds per second of the prediction.
  double dilation = 1;
  std::function<void()> deployed = nullptr;  // called before the first request
};

struct VerifyRaceResult {
  LatencyRecorder plain, verified;  // milliseconds of a request, in the time of the prediction
  Checks::Tally checks;
  std::map<std::string, int> accused;  // by name: checked requests in which a worker was wrong
};

// Runs equally many requests with and without checks. `judge` recomputes disputed values. Fails
// with kInvalidArgument if the plan survives no loss, and as RemotePlan::run() does.
Result<VerifyRaceResult> race_verification(Coordinator& coordinator, const plan::Prediction& plan,
                                           Device& judge, const VerifyRaceOptions& options);

}  // namespace shoal::cluster
