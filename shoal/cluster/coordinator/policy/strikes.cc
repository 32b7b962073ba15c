#include "shoal/cluster/coordinator/policy/strikes.h"

#include <algorithm>

#include "shoal/plan/plan.h"

namespace shoal::cluster {

void Strikes::add(const std::vector<Accusation>& accusations) {
  std::map<int, std::set<int>> by_sender;
  for (const Accusation& one : accusations) by_sender[one.sender].insert(one.reporter);
  for (auto& [sender, reporters] : by_sender) accused_[sender].push_back(std::move(reporters));
}

// An accusation counts against the reporter only if no other worker has ever accused that sender:
// an honest worker may meet several liars in the course of time, but it is not the only one that
// they lie to.
std::set<int> Strikes::disbelieved() const {
  std::map<int, int> alone;  // by reporter: senders that only it accuses
  for (const auto& [sender, requests] : accused_) {
    std::set<int> all;
    for (const std::set<int>& reporters : requests) all.insert(reporters.begin(), reporters.end());
    if (all.size() == 1 && *all.begin() != plan::kCoordinator && *all.begin() != sender) {
      ++alone[*all.begin()];
    }
  }
  std::set<int> workers;
  for (const auto& [reporter, senders] : alone) {
    if (senders > liars_) workers.insert(reporter);
  }
  return workers;
}

int Strikes::count(int sender, const std::set<int>& disbelieved) const {
  const auto it = accused_.find(sender);
  if (it == accused_.end()) return 0;
  return static_cast<int>(std::ranges::count_if(it->second, [&](const std::set<int>& reporters) {
    return !std::ranges::includes(disbelieved, reporters);
  }));
}

int Strikes::strikes_of(int worker) const { return count(worker, disbelieved()); }

std::set<int> Strikes::left_out() const {
  const std::set<int> liars = disbelieved();
  std::set<int> workers = liars;
  for (const auto& [sender, requests] : accused_) {
    if (count(sender, liars) >= kMost) workers.insert(sender);
  }
  return workers;
}

}  // namespace shoal::cluster
