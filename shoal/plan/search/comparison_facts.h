// Plans for one request as rows of tables, and in words.
#pragma once

#include <string>
#include <vector>

#include "shoal/base/facts.h"
#include "shoal/plan/search/comparison.h"

namespace shoal::plan {

// The segments of the best plan, and the load of each worker.
std::vector<Facts> segment_rows(const Comparison& made);
std::vector<Facts> worker_rows(const Comparison& made);

// The best plan against one worker, its price, why the next ones are slower, and advice: a line
// each.
std::string summary_text(const Comparison& made);

}  // namespace shoal::plan
