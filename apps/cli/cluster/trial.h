// Trial: a model on worker processes of this machine, some of which are killed and stopped while it
// answers.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "shoal/graph/graph.h"

namespace shoal::cli {

struct TrialFlags {
  size_t workers = 5;
  int survive = 1;
  size_t kills = 10;  // as by kill -9; the worker is started again
  size_t stops = 0;   // as by SIGSTOP, longer than it takes to be noticed
  size_t requests = 100;
  uint64_t seed = 1;
  std::string model = "zoo:digits";
};

struct TrialFigures {
  uint64_t requests = 0, answered = 0, failed = 0, wrong = 0, replayed = 0, resent_to_dead = 0;
  std::vector<double> calm_ms, ms;  // sorted
  double recovery_ms_max = 0;       // from a fault to the next answer
  std::string first_failure;
};

// `progress` is told how many requests are over.
Result<TrialFigures> put_on_trial(const TrialFlags& flags, const Graph& graph,
                                  const std::function<void(size_t)>& progress);

}  // namespace shoal::cli
