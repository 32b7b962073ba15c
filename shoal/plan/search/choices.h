// Choices: the layouts that are worth trying on a cluster. Immutable; the cluster outlives it.
#pragma once

#include <cstddef>
#include <set>
#include <vector>

#include "shoal/model/graph/graph.h"
#include "shoal/plan/layout.h"
#include "shoal/plan/profile.h"
#include "shoal/plan/search/planner.h"

namespace shoal::plan {

// Sizes of groups to try: 2, 3, 4, 6, 8, 12, 16 and so on, and `most`.
std::vector<size_t> group_sizes(size_t most);

class Choices {
 public:
  Choices(const Graph& graph, const ClusterProfile& cluster, const std::vector<int>& excluded);

  using Group = std::vector<int>;

  const std::vector<int>& workers() const { return workers_; }  // the ablest first
  const std::vector<int>& by_link() const { return by_link_; }  // the best connected first
  double ability(int worker) const { return abilities_[static_cast<size_t>(worker)]; }

  bool alike(int a, int b) const;

  // Everything on one worker. Only the first of equal workers, unless none has the memory for it
  // all.
  std::vector<Layout> ones() const;

  // Layouts over several groups of workers, or only over all of them.
  std::vector<Layout> of(Cut cut, bool over_all) const;

  // Layouts over these groups, each with shares by ability. REQUIRES: the cut is neither kInputs
  // nor kClusters.
  std::vector<Layout> over(Cut cut, const std::vector<Group>& groups) const;

  // The layout for terms of sums and for clusters: over the ablest few workers, or over all.
  Layout by_value(Cut cut, bool over_all) const;

 private:
  std::vector<Group> groups(bool over_all) const;
  std::vector<Group> subsets() const;
  Layout make(Cut cut, const Group& group, int64_t grid_rows) const;
  static Layout skewed(Layout layout);

  const ClusterProfile& cluster_;
  double bytes_ = 0;               // that one worker needs for the whole graph
  std::vector<double> abilities_;  // by worker: graphs a second, computing alone
  std::vector<int> workers_;
  std::vector<int> by_link_;
};

// Cuts: the places where a graph can be cut into segments.

// Node indices where at most `most_live` values from before are read later, not counting weights
// and values that only the next node reads: [0, ..., number of nodes]. With one live value,
// segments form a chain; with two, cuts inside of a residual block are found as well. No cut
// separates a node that reads only constants from the readers of its result. O(nodes log nodes).
std::vector<size_t> find_cuts(const Graph& graph, size_t most_live);

// By value: the index after the last node that reads it; the number of nodes + 1 for outputs.
std::vector<size_t> last_reads(const Graph& graph);

// Plans that use some of a cluster's workers and leave the others alone.

// `options` for plans that use these workers only. If they are too few to survive the losses that
// the options ask for, plans survive one fewer than there are workers.
PlanOptions for_workers(PlanOptions options, const std::set<int>& workers,
                        const ClusterProfile& cluster);

// The best of these plans.
Result<Prediction> make_plan_for(const std::set<int>& workers, const Graph& graph,
                                 const ClusterProfile& cluster, const PlanOptions& options);

}  // namespace shoal::plan
