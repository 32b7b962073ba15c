// Groups of similar workers: those that a plan may treat alike.
#pragma once

#include <vector>

#include "shoal/plan/search/choices.h"

namespace shoal::plan {

// Workers of one group differ by at most this factor in ability, memory, bandwidth and latency, and
// share one medium or have wires of their own.
inline constexpr double kSimilar = 1.1;

// Every worker that may be used is in one group. The group of the ablest worker comes first, and in
// each group the ablest worker.
std::vector<Choices::Group> similar_workers(const Choices& choices, const ClusterProfile& cluster);

// All workers, one of each group in turn: neighbours differ in their medium where they can.
std::vector<int> in_turn(const std::vector<Choices::Group>& groups);

}  // namespace shoal::plan
