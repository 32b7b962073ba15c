// Trial: a model on worker processes of this machine, to which faults happen while it answers.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "latencies.h"
#include "mishap.h"
#include "shoal/graph/graph.h"

namespace shoal::cli {

struct TrialFlags {
  size_t workers = 5;
  std::string cluster;  // emulated devices in their place: cluster.toml
  double dilation = 0;  // times as slow as the real ones; 0: as needed
  int survive = 1;
  MishapCounts mishaps;
  std::string at = kAnywhere;
  size_t requests = 100;
  double seconds = 0;  // not 0: mishaps of these kinds for so long
  uint64_t seed = 1;
  std::string model = "zoo:digits";
};

struct TrialFigures {
  uint64_t requests = 0, answered = 0, failed = 0, wrong = 0, replayed = 0, resent_to_dead = 0;
  Latencies calm, faulty, after;          // before and between faults, during them, after the last
  Latencies returns;                      // from a fault until all is as before it
  double recovery_ms_max = 0;             // from a fault to the next answer
  uint64_t at_points = 0;                 // faults that met someone at a point of a request
  std::map<std::string, uint64_t> kinds;  // how many faults there were of each
  std::string first_failure;
};

// Where it stands.
struct TrialState {
  const TrialFigures& figures;
  double seconds = 0;   // since it began
  uint64_t faults = 0;  // that have begun
  std::string latest;   // what happened last, who first: "worker-3 killed"
  int victim = -1;      // to whom it does still
  const std::vector<std::string>& names;
  std::vector<bool> states;  // by worker: is it there?
};

// `watch` is told after every request.
Result<TrialFigures> put_on_trial(const TrialFlags& flags, const Graph& graph,
                                  const std::function<void(const TrialState&)>& watch);

}  // namespace shoal::cli
