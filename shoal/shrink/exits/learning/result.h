// The results of adding exits to a network.
#pragma once

#include <cstdint>
#include <vector>

#include "shoal/shrink/exits/network/multi_exit.h"
#include "shoal/shrink/exits/thresholds/thresholds.h"

#pragma GCC visibility push(default)

namespace shoal::exits {

// Accuracies are percent of test examples, unless they say otherwise.
struct ExitsResult {
  std::vector<Exit> exits = {};          // with their thresholds
  std::vector<int64_t> stage_macs = {};  // of one image: per exit, and from there to the scores
  int64_t macs_before = 0;               // of the network without exits
  double top1_before = 0;                // of the network as it was given
  std::vector<double> top1 = {};  // of each exit alone on all examples, the last classifier last
  Figures held_out = {};          // of the examples that the thresholds were calibrated on
  Figures test = {};              // of examples that chose nothing
  double seconds = 0;
};

}  // namespace shoal::exits

#pragma GCC visibility pop
