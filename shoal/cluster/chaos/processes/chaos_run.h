// ChaosRun: sends requests to a ChaosCluster while the faults of a plan are injected, and reports
// their outcomes.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "shoal/base/timing/latency_recorder.h"
#include "shoal/cluster/chaos/fault_plan.h"
#include "shoal/cluster/chaos/processes/chaos_cluster.h"
#include "shoal/cluster/chaos/processes/overload.h"
#include "shoal/cluster/chaos/verdict.h"

namespace shoal::chaos {

struct ChaosRunOptions {
  FaultCounts faults = {};
  std::string where = kAnywhere;  // as in FaultPlanOptions
  size_t requests = 100;          // that meet faults
  double seconds = 0;             // not 0: faults in these proportions for this time instead
  uint64_t seed = 1;
};

struct ChaosReport {
  uint64_t requests = 0, answered = 0, failed = 0, wrong = 0, replayed = 0, resent_to_dead = 0;
  LatencyRecorder calm, faulty, after;    // before and between faults, during them, after the last
  LatencyRecorder returns;                // from a fault until all is as before it
  double recovery_ms_max = 0;             // from a fault to the next answer
  uint64_t at_points = 0;                 // faults that met a worker at a point of a request
  std::map<std::string, uint64_t> kinds;  // how many faults there were, by name_of(Fault)
  std::string first_failure;
  std::vector<std::string> left_out = {};  // workers that lied
  uint64_t asked_until_left_out = 0;       // requests before the first of them was
  uint64_t wrong_after = 0;                // of `wrong`: after that
  uint64_t checked = 0, disputed = 0;      // requests that were compared

  // `finds_liars`: one worker lies and requests are checked, so that it must be found. Wrong
  // answers before that are expected.
  Verdict verdict(bool finds_liars) const;
};

// The progress of a run.
struct ChaosProgress {
  const ChaosReport& report;
  double seconds = 0;   // since it began
  uint64_t faults = 0;  // that have begun
  std::string latest;   // the latest fault, the worker's name first: "worker-3 killed"
  int victim = -1;      // the worker to which a fault is being done; -1: none
  const std::vector<std::string>& names;
  std::vector<bool> present;  // by worker
};

// Sends equally many requests without faults, in turns, so that the machine is in the same state
// for both. Requests that fail are counted. `watch` is called after every request, on this thread.
// REQUIRES: this thread outlives the cluster
ChaosReport run_chaos(const ChaosRunOptions& options, ChaosCluster& cluster,
                      const std::function<void(const ChaosProgress&)>& watch);

// Overloads the cluster (overload.h). Uses the options `faults`, `where` and `seed`: in overload a
// fault begins every second, in these proportions, or when the previous one has ended. `kinds`
// counts them by kind. REQUIRES: as run_chaos()
OverloadReport overload_cluster(const OverloadOptions& overload, const ChaosRunOptions& options,
                                ChaosCluster& cluster, std::map<std::string, uint64_t>& kinds);

}  // namespace shoal::chaos
