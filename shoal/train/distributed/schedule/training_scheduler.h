// The scheduler of a training run: which workers, with which shares, codec, local steps, and
// whether radios are kept awake and results broadcast. A pure function of measured profiles.
#pragma once

#include <string>

#include "shoal/train/distributed/schedule/step_cost.h"

namespace shoal::learn {

struct Schedule {
  TrainingPlan plan;
  double step_seconds = 0;   // predicted
  double alone_seconds = 0;  // of the fastest device alone
  size_t alone = 0;          // which that is
  bool together = false;     // otherwise the fastest alone is as fast, and the plan is that

  double speedup() const { return alone_seconds / step_seconds; }
};

// Searches for the plan with the shortest predicted step. kInvalidArgument where there is no
// worker, no codec or no sample, a time is not above 0, or the unit does not divide the batch.
Result<Schedule> schedule(const TrainingSite& site, const TrainingJob& job);

// For people: "4 of 8 workers, 1bit, 3.94 x", or "nexus5 alone is faster than 2 workers together".
std::string describe(const Schedule& schedule, const TrainingSite& site);

}  // namespace shoal::learn
