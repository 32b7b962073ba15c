// Evaluations of networks with exits, as rows and JSON.
#pragma once

#include <string>
#include <vector>

#include "shoal/base/text/facts.h"
#include "shoal/shrink/exits/inference/runner.h"

namespace shoal::exits {

// Answers that took `seconds`, and what the exits saved.
Json to_json(const ExitsEvaluation& result, const Runner& runner, double seconds);
// A row for each exit and for the last classifier.
std::vector<Facts> rows_of(const ExitsEvaluation& result, const Runner& runner);
// All of them in a sentence.
std::string summary_text(const ExitsEvaluation& result, double seconds);

}  // namespace shoal::exits
