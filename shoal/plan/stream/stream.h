// Plans for a stream of requests, for the highest throughput.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "shoal/base/text/facts.h"
#include "shoal/base/timing/latency_recorder.h"
#include "shoal/plan/comparison/comparison.h"
#include "shoal/plan/cost/simulate.h"
#include "shoal/plan/search/planner.h"
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
  double wait_seconds = 0;  // for missing data, before decoding
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
// loss of `survive`. All turns are for one graph, which need not be the same object as before.
Result<std::vector<ScheduledPlan>> repeat(const Graph& graph, std::vector<ScheduledPlan> turns,
                                          int survive, std::vector<int> workers,
                                          double wait_seconds = 0);

// Stream comparison: the value of a cluster for a stream of requests. Plans stand beside each other
// and beside the best worker alone.
struct StreamComparison {
  Graph graph;
  ClusterProfile cluster;
  std::vector<StreamPrediction> plans;  // the best first; never empty
  double single_per_second = 0;         // requests, of the best worker alone
  bool single_fits = true;              // false: if it had the memory, which none has

  const StreamPrediction& best() const { return plans[0]; }
  double speedup() const { return best().requests_per_second() / single_per_second; }
};

// With `forced`, the plan for one worker is left out if there is another. Fails where
// make_stream_plans() fails.
Result<StreamComparison> compare_streams(Graph graph, ClusterProfile cluster,
                                         const StreamOptions& options, bool forced = false);

// Never kOne: a stream has no plan that makes other workers wait.
Advice advise(const StreamComparison& comparison);

// Time between two answers, and the part of it that the busiest worker computes and that the
// busiest link is in use.
struct Period {
  double seconds = 0, compute_seconds = 0, transfer_seconds = 0;
};
Period period_of(const StreamPrediction& plan);

// The costs of a plan for every request, in words.
std::string why_slower(const StreamPrediction& plan);
// Whether all workers are of use, in words.
std::string advice_text(const StreamComparison& comparison);

// The plans that requests use in turn, as text.
std::string to_text(const StreamPrediction& plan);

// The share of one request in a worker's seconds of the whole stream.
double seconds_per_request(const StreamPrediction& plan, double seconds);

// What it saves to go on with the first answers that are enough, where one worker of each request
// is slow.

// Milliseconds of requests, one after the other.
struct StragglerLatencies {
  LatencyRecorder first;  // by the plan
  LatencyRecorder all;    // if readers waited for all that is not lost
};
StragglerLatencies simulate_stragglers(const Prediction& plan, const ClusterProfile& cluster,
                                       size_t requests, const Stragglers& stragglers);

}  // namespace shoal::plan
