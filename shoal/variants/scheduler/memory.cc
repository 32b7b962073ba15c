#include "shoal/variants/scheduler/memory.h"

#include <algorithm>

namespace shoal::schedule {

Memory::Memory(const Catalog& catalog, int64_t capacity)
    : catalog_(catalog), capacity_(capacity), fragment_users_(catalog.fragments.size(), 0) {
  for (const Task& task : catalog.tasks) entries_.emplace_back(task.options.size());
}

int64_t Memory::extra_bytes(OptionId id) const {
  const Option& wanted = option(id);
  if (has(id) || !wanted.needs_memory()) return 0;
  const bool alone = wanted.fragment && fragment_users_[*wanted.fragment] == 0;
  return wanted.bytes + (alone ? catalog_.fragments[*wanted.fragment].bytes : 0);
}

void Memory::load(OptionId id, double ready_at) {
  const int64_t extra = extra_bytes(id);
  SHOAL_CHECK(!has(id) && extra <= free());
  used_ += extra;
  if (const auto& fragment = option(id).fragment) ++fragment_users_[*fragment];
  entries_[id.task][id.option] = {.resident = true, .ready_at = ready_at, .used_at = ready_at};
  residents_.push_back(id);
}

void Memory::evict(OptionId id) {
  SHOAL_CHECK(has(id));
  if (const auto& fragment = option(id).fragment) --fragment_users_[*fragment];
  entries_[id.task][id.option].resident = false;
  used_ -= extra_bytes(id);
  std::erase(residents_, id);
}

void Memory::restart_clock() {
  by_age();
  double order = -static_cast<double>(residents_.size());
  for (const OptionId id : residents_) {
    entries_[id.task][id.option].ready_at = 0;
    entries_[id.task][id.option].used_at = order++;
  }
}

std::span<const OptionId> Memory::by_age() {
  std::ranges::stable_sort(residents_, {}, [&](OptionId id) { return entry(id).used_at; });
  return residents_;
}

}  // namespace shoal::schedule
