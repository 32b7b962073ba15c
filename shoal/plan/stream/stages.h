// Stages: nodes cut into stages that workers compute one after the other, so that requests of a
// stream follow each other through them. Several workers may take turns at one stage.
#pragma once

#include <optional>
#include <vector>

#include "shoal/plan/stream/stage_costs.h"

namespace shoal::plan {

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
  // most often. Nothing if memory is short.
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
