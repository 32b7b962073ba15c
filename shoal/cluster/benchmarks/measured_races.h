// Other measurements on a cluster that may be emulated: streams, balancing, stragglers and checks.
// Links are slowed down after the weights were sent.
#pragma once

#include <string>
#include <vector>

#include "shoal/cluster/benchmarks/balanced_stream.h"
#include "shoal/cluster/benchmarks/measured_plans.h"
#include "shoal/cluster/benchmarks/straggler_race.h"
#include "shoal/cluster/benchmarks/verify_race.h"

namespace shoal::emulate {

// A stream beside that of the best worker alone: seconds between two answers, in emulated time.
struct StreamFigures {
  double single = 0, stream = 0;
  double slowdown = 1;  // as in plan::Evidence
  bool shares_machine = false;
  double dilation = 1;

  double speedup() const { return single / stream; }
};

// The stream was made by plan::compare_streams() with these arguments. If no worker has the memory
// for everything, the time of one worker stays the predicted one. Fails as measure_stream().
Result<StreamFigures> measure_stream_beside_one(ClusterAccess& access,
                                                const plan::StreamComparison& made,
                                                const plan::StreamOptions& how, bool forced);

// Moves stages between workers, which begin with equally many layers, until no move is worth it
// (cluster/benchmarks/balanced_stream.h). Each stage is computed by `survive` additional workers.
Result<std::vector<cluster::BalanceStep>> measure_balance(ClusterAccess& access,
                                                          const plan::StreamComparison& made,
                                                          int survive);

// kInvalidArgument if race_stragglers() is meaningless: workers cannot be slowed down, or the
// redundant plan has no worker to spare.
Status check_stragglers(const ClusterAccess& access, int survive);

// Runs both plans for some seconds, while one worker takes `times` as long for each request
// (cluster/benchmarks/straggler_race.h). REQUIRES: access.emulated()
Result<cluster::StragglerResult> race_stragglers(ClusterAccess& access,
                                                 const plan::Prediction& first,
                                                 const plan::Prediction& waiting, double seconds,
                                                 double times);

// The plan with and without checks of one request of `every` (cluster/benchmarks/verify_race.h).
Result<cluster::VerifyRaceResult> race_checks(ClusterAccess& access, const plan::Prediction& plan,
                                              Device& judge, uint64_t every, double seconds);

}  // namespace shoal::emulate
