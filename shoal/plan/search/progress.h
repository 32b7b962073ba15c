// Progress: the estimated state of a cluster after some segments of a plan. It follows the rules of
// the simulation, but messages go in the order of segments, so that a plan can be continued in
// several ways without being simulated from the start. A value: copies are independent.
#pragma once

#include <optional>
#include <vector>

#include "shoal/plan/cost/steps.h"
#include "shoal/plan/search/candidates.h"

namespace shoal::plan {

class Progress {
 public:
  // Before the first segment: the coordinator has the graph's inputs.
  Progress(const Graph& graph, const ClusterProfile& cluster);

  // State after one more segment; nothing if a worker lacks the memory. `last_reads` says which
  // values are still of interest.
  std::optional<Progress> after(const Candidate& candidate, size_t end_node,
                                const std::vector<size_t>& last_reads) const;

  // Lower bound of the time when the segment is done, without any transfer.
  double soonest(const Candidate& candidate) const;

  // Time when all values that later segments read exist.
  double seconds() const { return seconds_; }
  // When the coordinator has the answer.
  double answer_seconds() const;

 private:
  struct Holding {
    ValueId value;
    int machine;
    Region region;
    double ready;
    double copies = 1;  // that travel
  };
  struct Machine {
    double free = 0;  // from when on it can compute
    double heard = kUnheard;
    double weights = 0;      // bytes
    double activations = 0;  // bytes, of its largest task
  };

  Machine& machine(int index) { return machines_[static_cast<size_t>(index + 1)]; }
  // Sends the missing boxes of a piece and returns the time when the last of them arrives.
  double fetch(int to, const Piece& piece);
  double send(const Holding& from, int to, double bytes);

  const Graph* graph_;
  const ClusterProfile* cluster_;
  double seconds_ = 0;
  std::vector<Machine> machines_;  // the coordinator first
  std::vector<double> free_;       // by resource
  std::vector<Holding> holdings_;  // of values that are still read
};

}  // namespace shoal::plan
