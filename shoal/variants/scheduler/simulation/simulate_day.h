// Days of a scheduler in virtual time, with accounts of its own: what is spent, what is in memory
// and how long answers take is counted from the decisions alone, and compared with the budgets.
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>

#include "shoal/base/timing/latency_recorder.h"
#include "shoal/variants/scheduler/scheduler.h"

namespace shoal::schedule {

struct DayReport {
  size_t requests = 0, answered = 0, dropped = 0;
  size_t missed = 0;         // of the dropped: every option took too long
  double mean_accuracy = 0;  // weighted, of all requests; a dropped one has 0
  double joules = 0, dollars = 0;
  double sent_bytes = 0;  // to other machines
  int64_t peak_bytes = 0;
  size_t page_ins = 0;
  int64_t page_in_bytes = 0;
  size_t changes = 0;     // requests answered by another option than the last of the task
  size_t violations = 0;  // of a budget, of memory, or of a latency
  uint64_t log_hash = 0;  // of all lines of the log
  LatencyRecorder decision_us, plan_us;
};

struct SimulateOptions {
  uint64_t seed = 1;                                           // of whether fallbacks are needed
  std::function<double()> microseconds = nullptr;              // a clock, to time decisions
  std::function<void(const std::string& line)> log = nullptr;  // explained decisions
  std::function<void(const Decision& decision)> decided = nullptr;
  bool hash_log = false;  // otherwise log_hash is 0
};

// The requests in turn, by a scheduler whose day begins.
DayReport simulate_day(Scheduler& scheduler, const Budgets& budgets, const Paging& paging,
                       std::span<const Request> requests, const SimulateOptions& options = {});

}  // namespace shoal::schedule
