// FailoverPolicy: decides which plans a model should have on workers that come and go. It has no
// threads and no I/O: FailoverDeployment carries its decisions out in real time, a simulation in
// virtual time.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <vector>

namespace shoal::cluster {

using Workers = std::set<int>;

// The sets of workers to have plans for while these are present. The first is the set itself; with
// `standby`, the sets without one of its workers follow.
std::vector<Workers> sets_to_plan_for(const Workers& present, bool standby);

// Not thread-safe.
class FailoverPolicy {
 public:
  // Whether all workers of a plan still have it.
  using IsWhole = std::function<bool(uint64_t plan)>;

  explicit FailoverPolicy(bool standby) : standby_(standby) {}

  // The set to make and deploy a plan for next; nullopt if there is none left. Without `ahead`,
  // only for the present workers, and not for the next loss.
  std::optional<Workers> next(const Workers& present, const IsWhole& is_whole,
                              bool ahead = true) const;
  // Plans that some of their workers have lost, although all of these are there.
  std::vector<uint64_t> restorable(const Workers& present, const IsWhole& is_whole) const;
  void drop(uint64_t plan);
  // A plan was deployed that was made for `set` and uses these workers of it.
  void add(Workers set, uint64_t plan, Workers uses);
  // All plans are out of date. They serve until others replace them.
  void outdate();
  void refuse(const Workers& set) { refused_.insert(set); }  // it has no plan
  void forgive() { refused_.clear(); }                       // try all sets again

  // The best first: those for the most workers, and behind them those that are out of date.
  std::vector<uint64_t> order() const;
  // Removes plans that are damaged, or that others have replaced, and returns them. No new request
  // may use them.
  std::vector<uint64_t> retire(const Workers& present, const IsWhole& is_whole);

 private:
  struct Entry {
    Workers set;
    uint64_t plan;
    Workers uses;
    bool outdated = false;
  };

  bool standby_;
  std::vector<Entry> entries_;  // in order()
  std::set<Workers> refused_;
};

}  // namespace shoal::cluster
