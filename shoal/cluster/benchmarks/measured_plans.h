// Measures a plan on a cluster, beside the best worker alone and the prediction. Both plans are
// deployed at once and run in turn, so that changes of the machine's load affect both.
#pragma once

#include <functional>
#include <string>

#include "shoal/cluster/emulate/workers/cluster_access.h"
#include "shoal/plan/comparison/conclusion.h"
#include "shoal/plan/stream/stream.h"

namespace shoal::emulate {

struct MeasureOptions {
  double seconds = 3;  // for each measurement, but for three rounds at least
  // Fail if emulated devices were late, instead of measuring again in slower motion.
  bool strict = false;
  std::function<void(double seconds)> progress = nullptr;  // seconds that passed
  std::function<void(const std::string&)> note = nullptr;  // what was measured again, and why
};

// Times of the best plan and of the best worker alone, in emulated time.
struct PlanFigures {
  plan::Timeline single = {}, many = {};  // of the request in the middle
  size_t rounds = 0;
  double dilation = 1, lateness = 0;  // of emulated devices (dilation.h)
  // Of the workers' machines during the measurement: see plan::Evidence.
  double slowdown = 1;
  bool shares_machine = false;

  double speedup() const { return single.seconds / many.seconds; }
};

// If emulated devices were late because this machine is busy, measures again in slower motion, and
// tells `note` if they are still late. With options.strict, fails with kExhausted as soon as they
// are late. If a worker is lost or joins meanwhile, both plans are made again by `how`, and `made`
// holds those that were measured. If no worker has the memory for everything, the time of one
// worker stays the predicted one. Otherwise fails as PlanRace::run() does.
Result<PlanFigures> measure_plans(ClusterAccess& access, plan::Comparison& made,
                                  const plan::PlanOptions& how, const MeasureOptions& options);

// What these figures say about the plan. REQUIRES: they were measured for it.
plan::Evidence evidence_of(const plan::Comparison& made, const PlanFigures& figures);

// Forgets the stored profiles of the graph if these figures say that another profile would predict
// better: the time of one worker is far from predicted, or the speed-up is and nothing else
// explains it (plan::conclude()).
void judge_profiles(const ClusterAccess& access, const plan::Comparison& made,
                    const PlanFigures& figures);

// Seconds between two answers of a stream that plan::compare_streams() made with these arguments.
Result<double> measure_stream(ClusterAccess& access, const plan::StreamComparison& made,
                              const plan::StreamOptions& how, bool forced);

}  // namespace shoal::emulate
