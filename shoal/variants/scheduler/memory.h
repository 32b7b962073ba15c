// Memory: which variants are resident on this device, and how full that makes it. A fragment counts
// once, however many variants have it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
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
  // What loading it would add; 0 if it is resident.
  int64_t extra_bytes(OptionId id) const;

  // REQUIRES: it fits, and is not resident.
  void load(OptionId id, double ready_at);
  void touch(OptionId id, double now) { entries_[id.task][id.option].used_at = now; }
  void evict(OptionId id);  // REQUIRES: has(id)
  void restart_clock();     // times begin at 0 again

  // All that are resident, those first that were not used for longest.
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

}  // namespace shoal::schedule
