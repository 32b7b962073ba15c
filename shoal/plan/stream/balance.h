// Balance: the stages of a stream, moved while it runs. Nobody has to know beforehand how fast
// workers are: they report how long a request took them, which corrects what was believed, and one
// move after the other takes work from the slowest to the idle, until no move is worth it.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "shoal/plan/stream/stages.h"

namespace shoal::plan {

struct WorkerReport {
  int worker = 0;
  double seconds = 0;  // that it computed for a request, on the average
};

class Balancer {
 public:
  // Stages in the graph's order, without gaps, each between two cuts of StageCosts. What the
  // profile says is only where belief begins. The graph outlives the balancer.
  Balancer(const Graph& graph, ClusterProfile belief, std::vector<Stage> stages);

  const std::vector<Stage>& stages() const { return stages_; }
  void set_stages(std::vector<Stage> stages) { stages_ = std::move(stages); }
  const ClusterProfile& belief() const { return belief_; }

  // What workers of the present stages report. Others are passed over.
  void learn(std::span<const WorkerReport> reports);

  // Makes the one move that should gain most, and says which; nothing if none gains enough to be
  // worth the weights that would travel. Reports that stay the same lead to an end, as every move
  // makes the same measure of imbalance smaller.
  std::optional<std::string> move();

 private:
  const Graph& graph_;
  ClusterProfile belief_;
  std::vector<Stage> stages_;
};

// Consecutive nodes, as many for each worker as for any other: what one does who knows nothing.
std::vector<Stage> simple_pipeline(const Graph& graph, const std::vector<int>& workers);

}  // namespace shoal::plan
