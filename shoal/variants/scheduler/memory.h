// Memory: the variants resident on this device, and the bytes they take. Shared fragments count
// once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "shoal/variants/scheduler/task.h"

namespace shoal::schedule {

// An option of a task.
struct OptionId {
  size_t task = 0, option = 0;

  friend bool operator==(const OptionId&, const OptionId&) = default;
};

class Memory {
 public:
  // The catalog outlives it.
  Memory(const Catalog& catalog, int64_t capacity);

  bool has(OptionId id) const { return entry(id).resident; }
  double ready_at(OptionId id) const { return entry(id).ready_at; }  // REQUIRES: has(id)
  int64_t used() const { return used_; }
  int64_t free() const { return capacity_ - used_; }
  // The bytes that loading it would add; 0 if it is resident.
  int64_t extra_bytes(OptionId id) const;

  // REQUIRES: it fits, and is not resident.
  void load(OptionId id, double ready_at);
  void touch(OptionId id, double now) { entries_[id.task][id.option].used_at = now; }
  void evict(OptionId id);  // REQUIRES: has(id)
  void restart_clock();     // times begin at 0 again

  // The resident options, least recently used first.
  std::span<const OptionId> by_age();

 private:
  struct Entry {
    bool resident = false;
    double ready_at = 0, used_at = 0;
  };

  const Entry& entry(OptionId id) const { return entries_[id.task][id.option]; }
  const Option& option(OptionId id) const { return catalog_.tasks[id.task].options[id.option]; }

  const Catalog& catalog_;
  int64_t capacity_, used_ = 0;
  std::vector<std::vector<Entry>> entries_;
  std::vector<int> fragment_users_;
  std::vector<OptionId> residents_;
};

// Which variants to keep in memory: at most one per task, to maximise their total value. A
// multiple-choice knapsack in which shared fragments count once.

// The value of having an option in memory, against none of the task.
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

// Dynamic programming over sets of tasks: of those whose bytes fall into the same 256th of the
// memory, the most valuable is kept, with exact bytes. Never more than fits; optimal if no two sets
// meet in a 256th. Of equal ones, the first holdings win.
ResidentSet best_resident_set(std::span<const std::vector<Holding>> tasks,
                              std::span<const Fragment> fragments, int64_t capacity);

}  // namespace shoal::schedule
