// Evaluations of classifiers as facts.
#pragma once

#include "shoal/base/facts.h"
#include "shoal/fit/evaluation.h"

namespace shoal::fit {

// Images in a second. REQUIRES: seconds > 0.
double images_per_s(const Evaluation& answers, double seconds);

// Answers that took so many seconds.
Facts facts_of(const Evaluation& answers, double seconds);

}  // namespace shoal::fit
