// Strikes: decides which workers are left out because what they send is wrong. Accusations go in,
// the set of workers to leave out comes out. No threads and no I/O.
#pragma once

#include <map>
#include <set>
#include <vector>

namespace shoal::cluster {

// A piece of `sender` was wrong in a checked request, according to `reporter`. The coordinator
// itself (plan::kCoordinator) is believed; another worker may be the one that lies.
struct Accusation {
  int sender = 0;
  int reporter = 0;

  friend auto operator<=>(const Accusation&, const Accusation&) = default;
};

// Not thread-safe.
class Strikes {
 public:
  static constexpr int kMost = 2;  // strikes after which a worker is left out

  // `liars`: how many workers may lie at the same time: the number of losses that plans survive.
  explicit Strikes(int liars) : liars_(liars) {}

  // The accusations of one checked request. They count as one strike for a worker.
  void add(const std::vector<Accusation>& accusations);

  // Workers with enough strikes, and workers whose reports are not believed: a worker that, alone,
  // accuses more others than may lie at the same time lies itself. Its accusations no longer count,
  // so that workers accused by it alone are not left out any more.
  std::set<int> left_out() const;
  int strikes_of(int worker) const;  // that are believed

 private:
  std::set<int> disbelieved() const;
  int count(int sender, const std::set<int>& disbelieved) const;

  int liars_;
  // By sender: its accusers in each request in which it was accused.
  std::map<int, std::vector<std::set<int>>> accused_;
};

}  // namespace shoal::cluster
