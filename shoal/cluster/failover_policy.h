// FailoverPolicy: which plans a model should have on workers that come and go, decided. No threads
// and no I/O: a failover carries it out in real time, a simulation in virtual time.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <set>
#include <vector>

namespace shoal::cluster {

using Workers = std::set<int>;

// The sets that there should be plans for while these workers are there: the first is used, the
// others are for when one of them is lost.
std::vector<Workers> sets_to_plan_for(const Workers& present, bool standby);

class FailoverPolicy {
 public:
  // Whether all workers of a plan still have it.
  using IsWhole = std::function<bool(uint64_t plan)>;

  explicit FailoverPolicy(bool standby) : standby_(standby) {}

  // What to make and deploy a plan for now; nothing where all are there that can be. Not `ahead`:
  // only what is used, and nothing for the next loss.
  std::optional<Workers> next(const Workers& present, const IsWhole& is_whole,
                              bool ahead = true) const;
  // Plans that some of their workers do not have any more, though all are there.
  std::vector<uint64_t> restorable(const Workers& present, const IsWhole& is_whole) const;
  void drop(uint64_t plan);
  // It was made for `set`, and uses some of it.
  void add(Workers set, uint64_t plan, Workers uses);
  void refuse(const Workers& set) { refused_.insert(set); }  // there can be none
  void forgive() { refused_.clear(); }                       // perhaps there can now

  std::vector<uint64_t> order() const;  // the best first
  // Takes out those that are damaged, or that others have taken the place of: no request is to
  // begin by them any more.
  std::vector<uint64_t> retire(const Workers& present, const IsWhole& is_whole);

 private:
  struct Entry {
    Workers set;
    uint64_t plan;
    Workers uses;
  };

  bool standby_;
  std::vector<Entry> entries_;  // those for the most workers first
  std::set<Workers> refused_;
};

}  // namespace shoal::cluster
