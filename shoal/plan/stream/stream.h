// Plans for a stream of requests: as many answers a second as the workers can give.
#pragma once

#include <string>
#include <vector>

#include "shoal/plan/cost/simulate.h"
#include "shoal/plan/stream/stages.h"

namespace shoal::plan {

struct StreamOptions {
  bool stages = true;    // one worker's nodes after the other's
  bool replicas = true;  // workers that compute the same nodes, in turns
  std::vector<int> excluded = {};
  size_t in_flight = 0;  // requests on their way at a time; 0: two for each worker
  // Number of workers that may be lost. Stages are then computed by as many more, or layers split
  // by channels get parities: the plans with more answers a second win.
  int survive = 0;
  double wait_seconds = 0;  // for what is missing, before it is decoded
};

// The plans that requests use in turn, and their predicted throughput.
struct StreamPrediction {
  std::string name;  // "4 stages", "4 replicas", "2 stages over 4"
  // Request r is computed by turns[r % size]. There is at least one; all are for one graph: the one
  // asked about, or one that computes the same in other steps.
  std::vector<ScheduledPlan> turns = {};
  size_t in_flight = 0;
  Stream stream = {};

  const Graph& graph() const { return turns.front().graph(); }
  double requests_per_second() const { return stream.requests_per_second(); }
};

// Plans, the best first; there is at least one. kExhausted if no worker has the memory for its
// part.
Result<std::vector<StreamPrediction>> make_stream_plans(const Graph& graph,
                                                        const ClusterProfile& cluster,
                                                        const StreamOptions& options = {});

// Round robin: stages as plans, one for each request of a round.
inline constexpr size_t kMaxRoundRobin = 240;

// Request r is computed by plan r % size. Each stage gives each request to the worker that would be
// done with it first. There are at most `most` plans.
Result<std::vector<ScheduledPlan>> make_round_robin(const Graph& graph,
                                                    const ClusterProfile& cluster,
                                                    const std::vector<Stage>& stages,
                                                    size_t most = kMaxRoundRobin);

// The same turns with every stage computed by `survive` workers more, so that each survives the
// loss of so many. All turns are for one graph, which need not be the same object as before.
Result<std::vector<ScheduledPlan>> repeat(const Graph& graph, std::vector<ScheduledPlan> turns,
                                          int survive, std::vector<int> workers,
                                          double wait_seconds = 0);

}  // namespace shoal::plan
