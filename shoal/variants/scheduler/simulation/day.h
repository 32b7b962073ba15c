// Days of requests, drawn: a trace for the scheduler. The same seed gives the same days.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

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

}  // namespace shoal::schedule
