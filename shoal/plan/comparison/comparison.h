// Comparison: the value of a cluster for one model. Plans for one request stand beside each other
// and beside the best worker alone.
//
//   SHOAL_ASSIGN(auto made, plan::compare_plans(graph, cluster, options));
//   if (advise(made).use != plan::Use::kAll) ...
#pragma once

#include <cstddef>
#include <vector>

#include "shoal/plan/search/planner.h"

namespace shoal::plan {

// A smaller gain is within the error of predictions.
inline constexpr double kWorthwhileSpeedup = 1.01;

struct Comparison {
  ClusterProfile cluster;
  std::vector<Prediction> plans;  // the best first; never empty
  Prediction single;              // everything on the best worker
  // False: no worker has the memory for everything. `single` then assumes one that has and cannot
  // be deployed.
  bool single_fits = true;

  const Prediction& best() const { return plans[0]; }
  double speedup() const { return single.timeline.seconds / best().timeline.seconds; }
};

// Fails where make_plans() fails, and with kInvalidArgument if all workers are excluded.
Result<Comparison> compare_plans(const Graph& graph, ClusterProfile cluster,
                                 const PlanOptions& options);

// Replaces predicted times by measured ones, for `single` and the best plan. Bytes on the wire stay
// predicted: a measurement has none.
Comparison with_measured(Comparison comparison, Timeline single, Timeline best);

// Options for the baseline of redundancy: without spare workers and without the last workers, as
// many as may be lost, so that each computes as much as in a surviving plan.
PlanOptions without_spare(PlanOptions options, size_t workers);

// Everything on one worker.
struct BestWorker {
  Prediction plan;
  bool has_memory = true;  // the worker, for all of it
};
// The fastest of the workers that have the memory for everything or, if none has, of all, less
// `excluded`.
Result<BestWorker> plan_for_best(const Graph& graph, const ClusterProfile& cluster,
                                 const std::vector<int>& excluded);

// Whether more devices help.
enum class Use {
  kOnlyWorker,  // the cluster has one worker
  kTogether,    // no worker has the memory for everything
  kNoGain,      // the best plan uses several workers and is hardly faster than one
  kOne,         // one worker alone is fastest
  kSome,        // the best plan leaves workers idle
  kAll,
};

struct Advice {
  Use use = Use::kAll;
  size_t used = 0, all = 0;  // workers
  // For kOne: time of the best plan over several workers divided by that of one; 0 if there is
  // none.
  double times_slower = 0;
};
Advice advise(const Comparison& comparison);

// By how much `other` exceeds `best`; negative where it is less.
struct Difference {
  double compute_seconds = 0;  // of the busiest worker
  double wait_seconds = 0;     // of the busiest worker, until the answer is there
};
Difference difference(const Prediction& other, const Prediction& best);

// OK iff `workers`, less `excluded` of them, can survive the loss of `survive`.
Status check_survival(size_t workers, size_t excluded, int survive);

}  // namespace shoal::plan
