// Many days of one scheduler, which goes on learning, each against the best that there could be
// [Han 2016].
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "shoal/variants/scheduler/simulation/bound.h"
#include "shoal/variants/scheduler/simulation/day.h"
#include "shoal/variants/scheduler/simulation/simulate_day.h"

namespace shoal::schedule {

struct DaysReport {
  size_t days = 0;
  size_t requests = 0, answered = 0, dropped = 0, missed = 0, violations = 0, page_ins = 0;
  // Means of days.
  double mean_accuracy = 0, bound = 0, free_bound = 0, joules = 0, dollars = 0;
  // Of accuracy to the bounds, over the days that have one above 0; 0 without any.
  double mean_ratio = 0, worst_ratio = 0, worst_free_ratio = 0;
  uint64_t log_hash = 0;
  LatencyRecorder decision_us = {}, plan_us = {};
  std::vector<std::map<size_t, size_t>> answers = {};  // of each task, by option
};

struct DaysOptions {
  uint64_t days = 1, seed = 1;
  std::function<double()> microseconds = nullptr;              // a clock, to time decisions
  std::function<void(const std::string& line)> log = nullptr;  // explained decisions
};

// The same seed gives the same days. REQUIRES: check(catalog) is OK, and the trace is for it.
DaysReport simulate_days(const Catalog& catalog, const Trace& trace, const DaysOptions& options);

}  // namespace shoal::schedule
