// Strikes: decides which workers are left out because what they send is wrong. Accusations go in,
// the set of workers to leave out comes out. It has no threads and no I/O.
#pragma once

#include <map>
#include <set>
#include <vector>

namespace shoal::cluster {

// A piece of `sender` was wrong in a checked request, as `reporter` says. The coordinator itself
// (plan::kCoordinator) is believed; another worker may be the one that lies.
struct Accusation {
  int sender = 0;
  int reporter = 0;

  friend auto operator<=>(const Accusation&, const Accusation&) = default;
};

// Not thread-safe.
class Strikes {
 public:
  static constexpr int kMost = 2;  // a worker with so many is left out

  // `liars`: how many workers may lie at the same time, which is how many losses plans survive.
  explicit Strikes(int liars) : liars_(liars) {}

  // The accusations of one checked request. However many, they are one strike for a worker.
  void add(const std::vector<Accusation>& accusations);

  // Workers with enough strikes, and those whose reports are not believed: a worker that, alone,
  // accuses more others than may lie at the same time lies itself. Its accusations no longer
  // count, so that workers accused by it alone are not left out any more.
  std::set<int> left_out() const;
  int strikes_of(int worker) const;  // that are believed

 private:
  std::set<int> disbelieved() const;
  int count(int sender, const std::set<int>& disbelieved) const;

  int liars_;
  // By sender: who accused it in each request in which someone did.
  std::map<int, std::vector<std::set<int>>> accused_;
};

}  // namespace shoal::cluster
