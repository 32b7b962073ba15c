// Fitting: from measured nodes to a profile that predicts others.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "shoal/plan/profile.h"

namespace shoal::plan {

// One node that was timed.
struct Sample {
  std::string op;      // ONNX name
  std::string output;  // the name of its first output
  Work work;
  double seconds = 0;
};

// The roofline of samples of one kind of operator. The bound of each sample, products or memory,
// and the costs of both bounds are found in turns.
OperatorSpeed fit(std::span<const Sample> samples);

// Rooflines for every operator that was timed, one for all others, and for each node its
// correction. `whole_seconds`, if not zero, is the time of all nodes in one graph, where they need
// not repack what they pass on: all corrections are scaled to add up to it.
WorkerProfile fit_worker(std::string name, std::span<const Sample> samples,
                         double whole_seconds = 0);

}  // namespace shoal::plan
