// Residual blocks: parts y = x + f(x) of a network, with both of one type, that can be left out: y
// = x.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/model/graph/graph.h"

namespace shoal::compress {

// A value.
struct ResidualBlock {
  ValueId input = kNoValue;   // x
  ValueId branch = kNoValue;  // f(x)
  ValueId output = kNoValue;  // y
  std::vector<size_t> nodes;  // by number: those of f, then the sum
  std::string weights;        // the first that f reads, for people
};

// All blocks of a graph, in the order of its nodes. f has a product, reads only x and constants,
// and nothing outside reads its values. Blocks overlap only by nesting. Pure; safe for concurrent
// use.
std::vector<ResidualBlock> residual_blocks(const Graph& graph);

// The graph without these blocks, by number. Fails with kInvalidArgument for a number that is none.
// REQUIRES: `blocks` are those of the graph.
Result<Graph> without_blocks(const Graph& graph, std::span<const ResidualBlock> blocks,
                             std::span<const size_t> numbers);

}  // namespace shoal::compress
