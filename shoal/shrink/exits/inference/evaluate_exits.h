// How well, and with how much work, a multi-exit network answers labelled images.
#pragma once

#include <span>

#include "shoal/base/status.h"
#include "shoal/shrink/exits/inference/runner.h"
#include "shoal/shrink/exits/thresholds/thresholds.h"
#include "shoal/train/data/dataset.h"
#include "shoal/train/run/evaluation/evaluation.h"

#pragma GCC visibility push(default)

namespace shoal::exits {

// The answers that were given, each by the first exit that was confident.
struct ExitsEvaluation {
  fit::Evaluation answers;
  Figures figures;
};

// Evaluates as the runner serves: stages behind the exit that answered do not run. Fails with
// kInvalidArgument if network and images do not fit, or as data set and runner do. REQUIRES: as
// many thresholds as runner.exits().
Result<ExitsEvaluation> evaluate(const Runner& runner, std::span<const double> thresholds,
                                 const Dataset& data, const fit::EvaluationOptions& options = {});

}  // namespace shoal::exits

#pragma GCC visibility pop
