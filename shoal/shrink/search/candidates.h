// Candidates of an architecture search, and their predicted time on several units.
//
// A space is a number of units of one kind, a budget of multiply-accumulates for one image, and a
// number of vertices. Candidates are drawn from the four generators in turn, with several
// parameters each. All are ranked by the estimate of shrink/search/dag_schedule.h; the best are
// scheduled, and their plans carried out in virtual time (plan/cost/simulate.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/model/graph/graph.h"
#include "shoal/plan/plan.h"
#include "shoal/plan/profile.h"
#include "shoal/shrink/search/dag.h"
#include "shoal/shrink/search/dag_schedule.h"

namespace shoal::concurrent {

// Network: a classifier of images whose layers are wired as a DAG [Hadidi 2021, 5.2].
//
// The source is a 3 x 3 convolution and a norm. An inner vertex is the sum of its inputs, ReLU, a 3
// x 3 convolution, separable or plain, and a norm. The sink is the sum of its inputs, ReLU, the
// mean over the image and a fully connected layer. The thesis learns a weight per input of a sum;
// here each vertex's norm has one per channel.
//
// Stages without barriers: any vertex may halve the rows and columns and double the channels. Its
// level counts these on the way to it,
//
//   level(v) = max over predecessors of level + (1 if v is staged), 0 at the source,
//
// and its channels are round(width 2^level). Inputs of a sum with a lower level than the highest
// pass a scaling block: max-pools down to the smaller image, and a 1 x 1 convolution up to more
// channels. No vertex waits for all others.
//
// MACs grow with the width. It is chosen on a grid of 1/8 so that the MACs are nearest to the
// budget.

// When a vertex below the highest level is staged.
enum class Staging : uint8_t {
  kProbabilistic,  // with probability 1/2
  kGreedy,         // always
};

enum class Block : uint8_t { kSeparable, kPlain };

struct NetworkOptions {
  int64_t macs = 20'000'000;  // the budget, for one image
  int64_t classes = 10;
  int64_t size = 32;     // rows and columns of images
  int64_t channels = 3;  // of images
  int64_t batch = 1;
  int levels = 3;  // 1: uniform channels
  Staging staging = Staging::kProbabilistic;
  Block block = Block::kSeparable;
  uint64_t seed = 1;  // of weights and of what is staged
};

// How far the MACs of a network may be from the budget.
inline constexpr double kBudgetTolerance = 0.05;

struct Network {
  Graph graph;
  Dag dag;
  std::vector<plan::NodeRange> nodes;  // of the graph, by vertex; together they are all
  std::vector<int> level;              // by vertex; the sink's is that of its largest input
  double width = 0;
  int64_t macs = 0;  // for one image
};

// kInvalidArgument for options out of range, if no width is within the tolerance, or if most
// vertices would have fewer than 20 channels.
Result<Network> make_network(const Dag& dag, const NetworkOptions& options);

// The costs of its vertices.
Workload workload_of(const Network& network);

// The network over units as the schedule places its vertices: worker u computes what is placed on
// unit u. Workers go through their vertices by number.
plan::Plan plan_of(const Network& network, const Schedule& schedule, size_t units);

}  // namespace shoal::concurrent

namespace shoal::search {

struct Space {
  size_t units = 8;  // one more gathers the answer, as in shrink/search/dag_schedule.h
  size_t vertices = 40;
  concurrent::NetworkOptions network = {};
  // Of every unit.
  plan::WorkerProfile worker = {};
  plan::LinkProfile link = {};
};

// Fails with kInvalidArgument for numbers out of range.
Status check(const Space& space);

struct Candidate {
  std::string name;  // "dp-0.2-17": the generator, its parameter and the seed
  concurrent::Dag dag;
  double estimated_seconds = 0;
  double simulated_seconds = 0;  // 0: not simulated

  friend bool operator==(const Candidate&, const Candidate&) = default;
};

// Candidate `number` of a space, with its estimate. The same on every machine. Fails if no
// width gives the budget. REQUIRES: check(space) is OK.
Result<Candidate> draw(const Space& space, uint64_t number);

// The thesis' control: the median of n networks of the same work, randomly wired in stages
// (WattsStrogatz), one per level of the space, with barriers in between.
Result<double> staged_control_seconds(const Space& space, size_t count);

// Its network. Fails as make_network does.
Result<concurrent::Network> network_of(const Candidate& candidate, const Space& space,
                                       int64_t batch);

// The seconds of an answer when its plan is carried out in virtual time.
Result<double> simulated_seconds(const Candidate& candidate, const Space& space);

// Draws n candidates and simulates the best by estimate. Returns these, the fastest first.
// `done` is called with the number drawn or simulated so far; it may be null.
Result<std::vector<Candidate>> fastest_candidates(const Space& space, uint64_t first, size_t drawn,
                                                  size_t simulated,
                                                  const std::function<void(size_t)>& done = {});

}  // namespace shoal::search
