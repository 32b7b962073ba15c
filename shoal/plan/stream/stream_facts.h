// Plans for streams of requests as rows of tables, in words and as JSON.
#pragma once

#include <string>
#include <vector>

#include "shoal/base/text/facts.h"
#include "shoal/plan/comparison/comparison_facts.h"
#include "shoal/plan/stream/stream.h"

namespace shoal::plan {

// The stages of the best plan with the workers that take turns, and what each worker does for one
// request.
std::vector<Facts> stage_rows(const StreamComparison& made);
std::vector<Facts> worker_rows(const StreamComparison& made);

BesideOne beside_one(const StreamComparison& made, std::string model);

// The best plan against one worker, why the next ones are slower, and advice: a line each.
std::string summary_text(const StreamComparison& made);

// Bytes between workers, for one request.
double wire_bytes_per_request(const StreamPrediction& plan);

// The same members as a plan for one request has (summary.h); milliseconds are those between
// answers.
Json to_json(const StreamComparison& made, const std::string& model);

}  // namespace shoal::plan
