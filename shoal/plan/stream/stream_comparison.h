// Stream comparison: the value of a cluster for a stream of requests. Plans stand beside each other
// and beside the best worker alone.
#pragma once

#include <string>
#include <vector>

#include "shoal/plan/comparison/comparison.h"
#include "shoal/plan/stream/stream.h"

namespace shoal::plan {

struct StreamComparison {
  Graph graph;
  ClusterProfile cluster;
  std::vector<StreamPrediction> plans;  // the best first; never empty
  double single_per_second = 0;         // requests, of the best worker alone
  bool single_fits = true;              // false: if it had the memory, which none has

  const StreamPrediction& best() const { return plans[0]; }
  double speedup() const { return best().requests_per_second() / single_per_second; }
};

// With `forced`, the plan for one worker is left out wherever there is another. Fails where
// make_stream_plans() fails.
Result<StreamComparison> compare_streams(Graph graph, ClusterProfile cluster,
                                         const StreamOptions& options, bool forced = false);

// Never kOne: a stream has no plan that makes other workers wait.
Advice advise(const StreamComparison& made);

// Time between two answers, and the part of it that the busiest worker computes and that the
// busiest link is in use.
struct Period {
  double seconds = 0, compute_seconds = 0, transfer_seconds = 0;
};
Period period_of(const StreamPrediction& plan);

// The costs of a plan for every request, in words.
std::string why_slower(const StreamPrediction& plan);
// Whether all workers are of use, in words.
std::string advice_text(const StreamComparison& made);

// The plans that requests use in turn, as text.
std::string to_text(const StreamPrediction& plan);

// The share of one request in a worker's seconds of the whole stream.
double seconds_per_request(const StreamPrediction& plan, double seconds);

}  // namespace shoal::plan
