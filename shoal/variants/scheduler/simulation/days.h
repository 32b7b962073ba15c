// Many days of one scheduler, which goes on learning, each against an upper bound [Han 2016].
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "shoal/base/timing/latency_recorder.h"
#include "shoal/variants/scheduler/scheduler.h"

namespace shoal::schedule {

// Inputs that come together, each asked about by some tasks.
struct Stream {
  std::vector<size_t> tasks = {};
  std::vector<double> per_hour = {};  // inputs an hour, in equal parts of the day
  double spread = 0;                  // each part's rate is up to this share higher or lower
};

struct Usage {
  std::vector<Stream> streams = {};
  double down = 0;            // share of the time in which the other server is not there
  double down_seconds = 600;  // of an outage, on the average
};

// A day: what it may cost, what reading variants takes, and what is asked.
struct Trace {
  Budgets budgets;
  Paging paging;
  Usage usage;
};

// kInvalidArgument if a number cannot be, or a task does not exist.
Status check(const Usage& usage, size_t tasks);

// The requests of a day, in order of time.
std::vector<Request> draw_day(const Usage& usage, double seconds, uint64_t seed, uint64_t day);

// What is expected of each task: the requests of a day on the average.
std::vector<double> requests_per_day(const Usage& usage, size_t tasks, double seconds);

// An upper bound for any scheduler: the relaxed scheduling problem of a day whose requests are
// known [Han 2016].

struct Bound {
  // Weighted mean accuracy if each variant is in memory for the share of the day that it answers:
  // the bound of [Han 2016], for schedulers that do not page.
  double without_paging = 0;
  // The same if paging costs nothing: no scheduler exceeds it.
  double free_paging = 0;
};

// Requests of a task form groups: with and without a link, and by the number of requests that share
// an input. Users of a shared fragment each pay the least possible part, so that it stays a bound.
// REQUIRES: check(catalog) is OK.
Bound bound_of(const Catalog& catalog, const Budgets& budgets, std::span<const Request> requests);

// Days of a scheduler in virtual time. Spending, memory and latency are accounted from the
// decisions alone, and compared with the budgets.

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
