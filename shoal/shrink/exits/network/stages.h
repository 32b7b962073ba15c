// The stages of a multi-exit network: what runs up to the first exit, from there to the second, and
// so on. Nothing is computed twice.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/model/graph/graph.h"
#include "shoal/shrink/exits/network/multi_exit.h"

namespace shoal::exits {

// The graph with these values as outputs, without unneeded nodes. Names stay. REQUIRES: the values
// are of the graph.
Result<Graph> with_outputs(const Graph& graph, std::span<const ValueId> outputs);

struct Stage {
  Graph graph = {};                     // inputs: `reads`; outputs: `gives`
  std::vector<std::string> reads = {};  // the network's input, or what stages before it give
  std::vector<std::string> gives = {};  // the scores of its exit, then what stages after it read
  int64_t macs = 0;                     // multiply-accumulates of a run
};

// One stage per exit, and one for the last classifier. A node is in the first stage whose scores
// need it, so values for later stages are also read in their own stage, and no pass merges nodes
// across the end of a stage: results are those of the whole network, bit by bit, if the device
// chooses the same kernels. kInvalidArgument if an exit needs nothing beyond the one before it.
Result<std::vector<Stage>> stages_of(const MultiExit& network);

}  // namespace shoal::exits
