// A day of requests to a large cluster, in virtual time.
#pragma once

#include "../cli.h"
#include "../planning.h"

namespace shoal::cli {

struct DayFlags {
  bool day = false;  // whether it is asked for
  double hours = 24, rate = 10, losses = 2, away_minutes = 10;
  size_t team = 8;

  void add_to(Command& command);
};

// The model and the cluster of `plan`; nothing else of it counts.
Outcome simulate_day(const PlanFlags& plan, const DayFlags& day, unsigned seed, bool json);

}  // namespace shoal::cli
