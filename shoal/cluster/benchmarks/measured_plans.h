// Measured plans: what a plan is worth on a cluster, beside the best worker alone and beside what
// was predicted. Both are deployed at once and asked in turn, so that changes of the machine's load
// meet both.
#pragma once

#include <functional>
#include <string>

#include "shoal/cluster/emulate/workers/cluster_access.h"
#include "shoal/plan/comparison/conclusion.h"
#include "shoal/plan/stream/stream.h"

namespace shoal::emulate {

struct MeasureOptions {
  double seconds = 3;  // for each measurement, but for three rounds at least
  // Fail where emulated devices were late, and do not measure again in slower motion.
  bool strict = false;
  std::function<void(double seconds)> progress = nullptr;  // seconds that passed
  std::function<void(const std::string&)> note = nullptr;  // what was measured again, and why
};

// Times of the best plan and of the best worker alone, in the time of the workers' world.
struct PlanFigures {
  plan::Timeline single = {}, many = {};  // of the request in the middle
  size_t rounds = 0;
  double dilation = 1, lateness = 0;  // of emulated devices (dilation.h)
  // Of the workers' machines, when the plans were measured: see plan::Evidence.
  double slowdown = 1;
  bool shares_machine = false;

  double speedup() const { return single.seconds / many.seconds; }
};

// Emulated devices that were late, because this machine is busy, are measured again in slower
// motion; `note` is told if they are late then, too. With options.strict, fails with kExhausted as
// soon as they are late. If a worker is lost or comes meanwhile, both plans are made again, by
// `how`: in `made` are those that were measured. Where no worker has the memory for everything, the
// time of one worker stays the predicted one. Otherwise fails as PlanRace::run() does.
Result<PlanFigures> measure_plans(ClusterAccess& access, plan::Comparison& made,
                                  const plan::PlanOptions& how, const MeasureOptions& options);

// What these figures say about the plan. REQUIRES: they were measured for it.
plan::Evidence evidence_of(const plan::Comparison& made, const PlanFigures& figures);

// Forgets the stored profiles of the graph where these figures say that another one would predict
// better: the time of one worker is far from predicted, or the speed-up is and nothing else
// explains it (plan::conclude()).
void judge_profiles(const ClusterAccess& access, const plan::Comparison& made,
                    const PlanFigures& figures);

// Seconds between two answers of a stream, likewise; it was made by plan::compare_streams() with
// these arguments.
Result<double> measure_stream(ClusterAccess& access, const plan::StreamComparison& made,
                              const plan::StreamOptions& how, bool forced);

}  // namespace shoal::emulate
