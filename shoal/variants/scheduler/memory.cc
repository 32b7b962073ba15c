#include "shoal/variants/scheduler/memory.h"

#include <algorithm>
#include <utility>

namespace shoal::schedule {
namespace {

constexpr size_t kBuckets = 256, kNone = static_cast<size_t>(-1);

// A set of options of the tasks so far: one more than another state has, or none of this task.
struct State {
  double value = 0;
  int64_t bytes = 0;
  size_t before = kNone;  // state of the tasks before
  std::optional<size_t> option = {};
};

bool has(unsigned mask, size_t fragment) { return (mask >> fragment & 1) != 0; }

// The best set of options whose fragments are in the mask, in memory that has these already.
ResidentSet best_with(std::span<const std::vector<Holding>> tasks, unsigned mask,
                      int64_t capacity) {
  std::vector<State> states = {{}};
  size_t begin = 0, end = 1;  // of the states of the last task
  std::vector<size_t> bucket(kBuckets + 1);
  const auto scale =
      static_cast<double>(kBuckets) / static_cast<double>(std::max<int64_t>(capacity, 1));
  for (const std::vector<Holding>& task : tasks) {
    std::fill(bucket.begin(), bucket.end(), kNone);
    const auto offer = [&](const State& state) {
      const auto place = static_cast<size_t>(static_cast<double>(state.bytes) * scale);
      size_t& best = bucket[std::min(place, kBuckets)];
      if (best == kNone) {
        best = states.size();
        states.push_back(state);
      } else if (state.value > states[best].value ||
                 (state.value == states[best].value && state.bytes < states[best].bytes)) {
        states[best] = state;
      }
    };
    for (size_t s = begin; s < end; ++s) {
      const State from = states[s];
      offer({from.value, from.bytes, s, {}});
      for (const Holding& holding : task) {
        if (holding.value <= 0 || holding.bytes > capacity - from.bytes) continue;
        if (holding.fragment && !has(mask, *holding.fragment)) continue;
        offer({from.value + holding.value, from.bytes + holding.bytes, s, holding.option});
      }
    }
    begin = end;
    end = states.size();
  }
  size_t best = begin;
  for (size_t s = begin; s < end; ++s) {
    if (states[s].value > states[best].value) best = s;
  }
  ResidentSet set{.value = states[best].value, .options = {}};
  set.options.resize(tasks.size());
  for (size_t task = tasks.size(), s = best; task-- > 0; s = states[s].before) {
    set.options[task] = states[s].option;
  }
  return set;
}

}  // namespace

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

ResidentSet best_resident_set(std::span<const std::vector<Holding>> tasks,
                              std::span<const Fragment> fragments, int64_t capacity) {
  ResidentSet best;
  best.options.resize(tasks.size());
  for (unsigned mask = 0; mask < 1U << fragments.size(); ++mask) {
    int64_t left = capacity;
    for (size_t f = 0; f < fragments.size(); ++f) left -= has(mask, f) ? fragments[f].bytes : 0;
    if (left < 0) continue;
    ResidentSet set = best_with(tasks, mask, left);
    if (set.value > best.value) best = std::move(set);
  }
  return best;
}

}  // namespace shoal::schedule
