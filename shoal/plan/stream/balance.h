// Balancer: the stages of a stream, moved while it runs. Speeds need not be known beforehand:
// workers report the time of each request, which corrects the belief, and moves shift work from the
// slowest to the idle until none is worth it. Not thread-safe.
#pragma once

#include <optional>
#include <set>
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
  // `stages` are in the graph's order, without gaps, each between two cuts of StageCosts. `belief`
  // is only the starting point. The graph outlives the balancer.
  Balancer(const Graph& graph, ClusterProfile belief, std::vector<Stage> stages);

  const std::vector<Stage>& stages() const { return stages_; }
  void set_stages(std::vector<Stage> stages) { stages_ = std::move(stages); }
  const ClusterProfile& belief() const { return belief_; }

  // Corrects the belief by reports of workers of the present stages. Other reports, and times that
  // are not positive, are ignored.
  void learn(std::span<const WorkerReport> reports);

  // Makes the move with the largest predicted gain and describes it; nullopt if none gains enough
  // to be worth the weights that would travel. Constant reports lead to an end, because every move
  // makes the same measure of imbalance smaller.
  std::optional<std::string> move();

 private:
  const Graph& graph_;
  ClusterProfile belief_;
  std::vector<Stage> stages_;
};

// The stages with these workers only. A worker that has no stage yet takes one that has lost its
// last, or else helps the one with most nodes for each worker. A stage without a worker goes to a
// neighbour. REQUIRES: there is a worker and a stage.
std::vector<Stage> stages_for(std::vector<Stage> stages, std::set<int> workers);

// A pipeline with about equally many cuts per worker: a start without any knowledge.
std::vector<Stage> simple_pipeline(const Graph& graph, const std::vector<int>& workers);

}  // namespace shoal::plan
