// Stages: nodes cut into stages that workers compute one after the other, so that requests of a
// stream follow each other through them. Several workers may take turns at one stage.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "shoal/plan/profile.h"

namespace shoal::plan {

// Stage costs: how often workers can accept a request for the nodes between two cuts. The cluster
// outlives this. Prefix sums over nodes make every query O(1) for each worker.
class StageCosts {
 public:
  StageCosts(const Graph& graph, const ClusterProfile& cluster);

  const std::vector<size_t>& cuts() const { return cuts_; }  // between nodes; the ends are, too

  // Between two cuts, by their numbers: seconds that a worker computes,
  double seconds(int worker, size_t begin, size_t end) const;
  // between requests that it can take, if it alone has these nodes, from what it computes and what
  // passes its link; infinite if memory is short,
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

struct Stage {
  NodeRange nodes;
  std::vector<int> workers;  // that take turns

  friend bool operator==(const Stage&, const Stage&) = default;
};

class StageFinder {
 public:
  // Workers are given to stages in this order. The cluster outlives this.
  StageFinder(const Graph& graph, const ClusterProfile& cluster, std::vector<int> workers);

  // The best `stages` stages with at most `most_workers` workers each: those that take a request
  // most often. nullopt if memory is short.
  std::optional<std::vector<Stage>> best(size_t stages, size_t most_workers) const;

 private:
  struct Choice {
    double period;            // seconds between requests
    size_t cut = 0, workers;  // where the stage before ends, and how many this one has
  };
  using Row = std::vector<std::vector<Choice>>;  // by workers used and cut

  Row extended(const Row& before, size_t most_workers) const;

  const StageCosts costs_;
  const std::vector<size_t>& cuts_;
  const std::vector<int> workers_;
};

}  // namespace shoal::plan
