// Budgets and costs in words: "energy=50", "price=0.5".
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/variants/scheduler/task.h"

namespace shoal::serve {

// What the answers of a catalog may cost.
struct Allowed {
  // As good as none, but for money, of which there is none.
  schedule::Budgets budgets{
      .joules = 1e12, .dollars = 0, .bytes = int64_t{1} << 50, .seconds = 86'400};
  double latency_ms = std::numeric_limits<double>::infinity();
  double requests = 0;  // of a day, of each task
};

// "energy=50", in joules; money in dollars, memory in megabytes, latency in milliseconds, requests
// of a day, and the day in hours. The last one of a name counts. kInvalidArgument for other names
// and for what is no number from 0 to 1e12; `flag` is for the message.
Result<Allowed> parse_budgets(const std::string& flag, const std::vector<std::string>& texts);

// "price=0.5", in dollars an hour: what it takes to ask another server; likewise mbit a second of
// the link, radio watts, speed in that of this device, and round-trip in milliseconds. What is not
// named stays as it is. Fails as parse_budgets().
Status parse_costs(const std::string& flag, const std::vector<std::string>& texts,
                   schedule::Cloud& costs);

}  // namespace shoal::serve
