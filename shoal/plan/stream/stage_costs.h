// Stage costs: how often workers can take a request of the nodes between two cuts. The cluster
// outlives this. Prefix sums over nodes make every query O(1) for each worker.
#pragma once

#include <span>
#include <vector>

#include "shoal/plan/profile.h"

namespace shoal::plan {

class StageCosts {
 public:
  StageCosts(const Graph& graph, const ClusterProfile& cluster);

  const std::vector<size_t>& cuts() const { return cuts_; }  // between nodes; the ends are, too

  // Between two cuts, by their numbers: seconds that a worker computes,
  double seconds(int worker, size_t begin, size_t end) const;
  // between requests that it can take, if it alone has these nodes, from what it computes and what
  // passes its link; infinite where memory is short,
  double period(int worker, size_t begin, size_t end) const;
  // and between requests if several take turns.
  double period(std::span<const int> workers, size_t begin, size_t end) const;

 private:
  const ClusterProfile& cluster_;
  std::vector<size_t> cuts_;
  std::vector<double> crossing_;              // bytes, by cut
  std::vector<double> weights_;               // bytes before a cut
  double activations_ = 0;                    // most bytes of any node
  std::vector<std::vector<double>> seconds_;  // before a cut, by worker
};

}  // namespace shoal::plan
