// Choices: the layouts that are worth trying on a cluster. Immutable; the cluster outlives it.
#pragma once

#include <vector>

#include "shoal/plan/layout.h"
#include "shoal/plan/profile.h"

namespace shoal::plan {

class Choices {
 public:
  Choices(const Graph& graph, const ClusterProfile& cluster, const std::vector<int>& excluded);

  const std::vector<int>& workers() const { return workers_; }  // the ablest first

  bool alike(int a, int b) const;

  // Everything on one worker. Only the first of equal workers, unless none has the memory for it
  // all.
  std::vector<Layout> ones() const;

  // Layouts over several groups of workers, or only over all of them.
  std::vector<Layout> of(Cut cut, bool over_all) const;

  // The layout for terms of sums and for clusters: over the ablest few workers, or over all.
  Layout by_value(Cut cut, bool over_all) const;

 private:
  using Group = std::vector<int>;

  double ability(int worker) const { return abilities_[static_cast<size_t>(worker)]; }
  std::vector<Group> groups(bool over_all) const;
  std::vector<Group> subsets() const;
  Layout make(Cut cut, const Group& group, int64_t grid_rows) const;
  static Layout skewed(Layout layout);

  const ClusterProfile& cluster_;
  double bytes_ = 0;               // that one worker needs for the whole graph
  std::vector<double> abilities_;  // by worker: graphs a second, computing alone
  std::vector<int> workers_;
  std::vector<int> by_link_;  // workers with the best links first
};

}  // namespace shoal::plan
