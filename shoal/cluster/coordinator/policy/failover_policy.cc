// The rules of failover. Wanted are a plan for the present set P and, with standby, one for each P
// \ {w}. A plan made for a superset serves a set if it uses no worker outside of it: a search among
// fewer workers has fewer choices and finds nothing better. Plans for larger sets come first for
// that reason.
#include "shoal/cluster/coordinator/policy/failover_policy.h"

#include <algorithm>

namespace shoal::cluster {

std::vector<Workers> sets_to_plan_for(const Workers& present, bool standby) {
  if (present.empty()) return {};
  std::vector<Workers> sets = {present};
  if (!standby || present.size() == 1) return sets;
  for (int worker : present) {
    Workers fewer = present;
    fewer.erase(worker);
    sets.push_back(std::move(fewer));
  }
  return sets;
}

std::optional<Workers> FailoverPolicy::next(const Workers& present, const IsWhole& is_whole,
                                            bool ahead) const {
  for (const Workers& set : sets_to_plan_for(present, standby_ && ahead)) {
    if (refused_.contains(set)) continue;
    const bool served = std::ranges::any_of(entries_, [&](const Entry& entry) {
      // A plan for more workers serves a smaller set if it uses no worker outside of it.
      return !entry.outdated && std::ranges::includes(entry.set, set) &&
             std::ranges::includes(set, entry.uses) && is_whole(entry.plan);
    });
    if (!served) return set;
  }
  return std::nullopt;
}

std::vector<uint64_t> FailoverPolicy::restorable(const Workers& present,
                                                 const IsWhole& is_whole) const {
  std::vector<uint64_t> plans;
  for (const Entry& entry : entries_) {
    if (std::ranges::includes(present, entry.uses) && !is_whole(entry.plan)) {
      plans.push_back(entry.plan);
    }
  }
  return plans;
}

void FailoverPolicy::drop(uint64_t plan) {
  std::erase_if(entries_, [&](const Entry& entry) { return entry.plan == plan; });
}

void FailoverPolicy::add(Workers set, uint64_t plan, Workers uses) {
  const auto at = std::ranges::find_if(entries_, [&](const Entry& entry) {
    return entry.outdated || entry.set.size() < set.size();
  });
  entries_.insert(at, {std::move(set), plan, std::move(uses)});
}

void FailoverPolicy::outdate() {
  for (Entry& entry : entries_) entry.outdated = true;
}

std::vector<uint64_t> FailoverPolicy::order() const {
  std::vector<uint64_t> plans;
  for (const Entry& entry : entries_) plans.push_back(entry.plan);
  return plans;
}

std::vector<uint64_t> FailoverPolicy::retire(const Workers& present, const IsWhole& is_whole) {
  const std::vector<Workers> wanted = sets_to_plan_for(present, standby_);
  const auto is_kept = [&](const Entry& entry) {
    return !entry.outdated && is_whole(entry.plan) &&
           std::ranges::find(wanted, entry.set) != wanted.end();
  };
  // Without a replacement, a damaged plan is better than none: it may survive its losses.
  if (std::ranges::none_of(entries_, is_kept)) return {};
  std::vector<uint64_t> retired;
  std::erase_if(entries_, [&](const Entry& entry) {
    if (is_kept(entry)) return false;
    retired.push_back(entry.plan);
    return true;
  });
  return retired;
}

}  // namespace shoal::cluster
