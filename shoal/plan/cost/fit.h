// Fitting: from measured nodes to a profile that can say what others take.
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

// The line through samples of one kind: the bound they are held by, multiplying or moving, is found
// by turns with what each bound costs.
OperatorSpeed fit(std::span<const Sample> samples);

// Lines for every operator that was timed, one for all others, and for each node what it takes
// beside its line. `whole_seconds`, if not zero, is what the nodes take one after the other in one
// graph, where they need not repack what they pass on: all corrections are scaled to add up to it.
WorkerProfile fit_worker(std::string name, std::span<const Sample> samples,
                         double whole_seconds = 0);

}  // namespace shoal::plan
