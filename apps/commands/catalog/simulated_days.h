// Days of a scheduler in virtual time, of the files that describe them.
#pragma once

#include <cstdint>
#include <string>

#include "shoal/base/status.h"
#include "shoal/variants/scheduler/simulation/days.h"

namespace shoal::config {

struct DaysSettings {
  std::string catalog = {}, trace = {};  // files, as read_tasks() and read_trace() take them
  std::string log = {};                  // a file for every decision and its reasons; empty: none
  uint64_t days = 1, seed = 1;
};

struct SimulatedDays {
  schedule::Catalog catalog;
  schedule::Trace trace;
  schedule::DaysReport report;
};

// All days, by one scheduler that goes on learning. Fails as the files do, and with
// kInvalidArgument where the log cannot be written.
Result<SimulatedDays> simulate_days(const DaysSettings& settings);

}  // namespace shoal::config
