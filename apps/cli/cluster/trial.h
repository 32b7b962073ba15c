// Trial: a model on worker processes of this machine, to which faults happen while it answers.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "latencies.h"
#include "shoal/graph/graph.h"

namespace shoal::cli {

struct TrialFlags {
  size_t workers = 5;
  int survive = 1;
  size_t kills = 10;  // as by kill -9; the worker is started again
  size_t stops = 0;   // as by SIGSTOP, longer than it takes to be noticed
  size_t slows = 0;   // a tenth of a core's time, for a while
  size_t requests = 100;
  double seconds = 0;  // not 0: faults of these kinds, as often as each other, for so long
  uint64_t seed = 1;
  std::string model = "zoo:digits";
};

struct TrialFigures {
  uint64_t requests = 0, answered = 0, failed = 0, wrong = 0, replayed = 0, resent_to_dead = 0;
  Latencies calm, faulty, after;  // before and between faults, during them, after the last
  Latencies returns;              // from a fault until all is as before it
  double recovery_ms_max = 0;     // from a fault to the next answer
  std::string first_failure;
};

// Where it stands.
struct TrialState {
  const TrialFigures& figures;
  double seconds = 0;        // since it began
  uint64_t faults = 0;       // that have begun
  std::string latest;        // what happened last: "worker-3 killed"
  std::vector<bool> states;  // by worker: is it there?
};

// `watch` is told after every request.
Result<TrialFigures> put_on_trial(const TrialFlags& flags, const Graph& graph,
                                  const std::function<void(const TrialState&)>& watch);

}  // namespace shoal::cli
