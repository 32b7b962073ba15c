// Measured plans beside what was predicted of them, for scripts and for people.
#pragma once

#include <string>
#include <vector>

#include "shoal/base/text/facts.h"
#include "shoal/cluster/benchmarks/measured_plans.h"
#include "shoal/cluster/benchmarks/race_facts.h"

namespace shoal::emulate {

// Other measurements on a cluster that may be emulated: streams, stages that are moved, stragglers
// and checks. Links are slow from when weights have travelled.
// A stream beside that of the best worker alone. Seconds between two answers, in the time of the
// workers' world.
struct StreamFigures {
  double single = 0, stream = 0;
  double slowdown = 1;  // as in plan::Evidence
  bool shares_machine = false;
  double dilation = 1;

  double speedup() const { return single / stream; }
};

// The stream was made by plan::compare_streams() with these arguments. Where no worker has the
// memory for everything, the time of one worker stays the predicted one. Fails as measure_stream().
Result<StreamFigures> measure_stream_beside_one(ClusterAccess& access,
                                                const plan::StreamComparison& made,
                                                const plan::StreamOptions& how, bool forced);

// Moves stages between the workers, which begin with as many layers each, until no move is worth it
// (cluster/benchmarks/balanced_stream.h). Each stage is computed by `survive` workers more.
Result<std::vector<cluster::BalanceStep>> measure_balance(ClusterAccess& access,
                                                          const plan::StreamComparison& made,
                                                          int survive);

// kInvalidArgument where race_stragglers() means nothing: workers cannot be slowed down, or the
// plan that goes on with the first answers has none to spare.
Status check_stragglers(const ClusterAccess& access, int survive);

// Both plans for so many seconds, while another worker takes `times` as long for each request
// (cluster/benchmarks/straggler_race.h). REQUIRES: access.emulated()
Result<cluster::StragglerResult> race_stragglers(ClusterAccess& access,
                                                 const plan::Prediction& first,
                                                 const plan::Prediction& waiting, double seconds,
                                                 double times);

// The plan with and without checks of one request of `every` (cluster/benchmarks/verify_race.h).
Result<cluster::VerifyRaceResult> race_checks(ClusterAccess& access, const plan::Prediction& plan,
                                              Device& judge, uint64_t every, double seconds);

// The plan as an object, which gets members about what was measured.
Json with_figures(Json plan, const plan::Comparison& made, const PlanFigures& figures);
// Segments, workers, and the plan beside one worker.
std::vector<Facts> segment_rows(const plan::Comparison& made, const PlanFigures& figures);
std::vector<Facts> worker_rows(const plan::Comparison& made, const PlanFigures& figures);
std::vector<Facts> rows_of(const plan::Comparison& made, const PlanFigures& figures);
// What follows from the figures, in words.
std::string conclusion_of(const plan::Comparison& made, const PlanFigures& figures);

// The same of a stream.
Json with_figures(Json plan, const plan::StreamComparison& made, const StreamFigures& figures);
std::vector<Facts> rows_of(const plan::StreamComparison& made, const StreamFigures& figures);
std::string conclusion_of(const plan::StreamComparison& made, const StreamFigures& figures);

}  // namespace shoal::emulate
