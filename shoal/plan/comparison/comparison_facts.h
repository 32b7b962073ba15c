// Plans for one request as rows of tables, and in words.
#pragma once

#include <string>
#include <vector>

#include "shoal/base/text/facts.h"
#include "shoal/plan/comparison/comparison.h"

namespace shoal::plan {

// The segments of the best plan, and the load of each worker.
std::vector<Facts> segment_rows(const Comparison& made);
std::vector<Facts> worker_rows(const Comparison& made);

// The best plan beside one worker, as one row. A stream has milliseconds between answers.
struct BesideOne {
  std::string model;
  size_t workers = 0;
  std::string plan;
  double single_ms = 0, cluster_ms = 0, speedup = 0, wire_bytes = 0;
};
Facts facts_of(const BesideOne& made);
BesideOne beside_one(const Comparison& made, std::string model);

// The best plan against one worker, its price, why the next ones are slower, and advice: a line
// each.
std::string summary_text(const Comparison& made);

// What `shoal plan --json` prints: summary.h.
Json to_json(const Comparison& made, const std::string& model);

}  // namespace shoal::plan
