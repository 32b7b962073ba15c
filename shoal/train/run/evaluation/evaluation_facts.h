// Evaluations of classifiers as facts, and as one number.
#pragma once

#include <functional>
#include <string>

#include "shoal/base/text/facts.h"
#include "shoal/train/run/evaluation/evaluation.h"

namespace shoal::fit {

// Images in a second. REQUIRES: seconds > 0.
double images_per_s(const Evaluation& answers, double seconds);

// Answers that took `seconds`.
Facts facts_of(const Evaluation& answers, double seconds);

// What a person should know who reads them, in one line; empty if there is nothing.
std::string warning_of(const Evaluation& answers);

// The share of the examples that a session answers right, in [0, 1]; a failure is that of
// evaluate(). REQUIRES: `data` outlives it.
std::function<Result<double>(Session&)> share_right_of(const Dataset& data,
                                                       EvaluationOptions options);

}  // namespace shoal::fit
