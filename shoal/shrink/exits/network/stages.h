// The stages of a multi-exit network: what runs up to the first exit, from there to the second, and
// so on. A stage computes nothing that one before it has computed.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/model/graph/graph.h"
#include "shoal/shrink/exits/network/multi_exit.h"

namespace shoal::exits {

// The graph with these values as its outputs, and without what none of them needs. Names stay.
// REQUIRES: the values are of the graph.
Result<Graph> with_outputs(const Graph& graph, std::span<const ValueId> outputs);

struct Stage {
  Graph graph = {};                     // inputs: `reads`; outputs: `gives`
  std::vector<std::string> reads = {};  // the network's input, or what stages before it give
  std::vector<std::string> gives = {};  // the scores of its exit, then what stages after it read
  int64_t macs = 0;                     // multiply-accumulates of a run
};

// One stage per exit, and one for the last classifier. A node is in the first stage whose scores
// need it. So what a node gives to later stages is read in its own stage, too, and a pass that
// merges a value with its only reader never merges across the end of a stage: stages compute bit by
// bit what the whole network does, where the device chooses the same kernels for both.
// kInvalidArgument where an exit needs nothing that the one before it does not.
Result<std::vector<Stage>> stages_of(const MultiExit& network);

}  // namespace shoal::exits
