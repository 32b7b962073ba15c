// Choice: what a run of shrink() decided to remove, as it is kept for a run that goes on later.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

namespace shoal::shrink {

// How long a run for one example takes where the network will run, by a latency table.
struct PredictedTime {
  double before_ms = 0;  // the given network
  double ms = 0;         // the smaller one

  friend bool operator==(const PredictedTime&, const PredictedTime&) = default;
};

// A value.
struct Choice {
  std::vector<size_t> units = {};  // of the groups of the network for one example, by number
  std::optional<PredictedTime> time = {};

  friend bool operator==(const Choice&, const Choice&) = default;
};

}  // namespace shoal::shrink
