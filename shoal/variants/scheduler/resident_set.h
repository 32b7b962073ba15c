// Which variants to keep in memory: at most one of each task, so that what they are worth together
// is the most. A knapsack with a choice for each task, in which shared fragments count once.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "shoal/variants/scheduler/task.h"

namespace shoal::schedule {

// What it is worth to have an option in memory, against having none of the task.
struct Holding {
  size_t option = 0;
  double value = 0;
  int64_t bytes = 0;
  std::optional<size_t> fragment = {};
};

struct ResidentSet {
  double value = 0;
  std::vector<std::optional<size_t>> options;  // of each task

  friend bool operator==(const ResidentSet&, const ResidentSet&) = default;
};

// By dynamic programming over sets of tasks whose bytes fall into the same 256th of the memory, of
// which the most valuable is kept, with its bytes as they are. Never more than fits; the optimum
// where no two sets meet in a 256th. Of equal ones, the first holdings win.
ResidentSet best_resident_set(std::span<const std::vector<Holding>> tasks,
                              std::span<const Fragment> fragments, int64_t capacity);

}  // namespace shoal::schedule
