// A network in two parts: its first layers, and the rest, which reads what they give. The parts may
// run in two places (split execution [Han 2016]): what travels between them is `sent_bytes`.
//
// Parts are made of a network that passes have optimised already, so that nothing is folded across
// the cut that the whole network would not fold: on a device that chooses the same kernels for
// both, the parts compute bit by bit what the whole does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/model/graph/graph.h"

namespace shoal::prefix {

// Multiply-accumulates of a run, and bytes of constants.
struct Work {
  int64_t macs = 0, bytes = 0;
};
Work work_of(const Graph& graph);

// Where a network can be cut: after so many of its nodes.
struct SplitPoint {
  size_t nodes = 0;
  Work first = {};  // of the nodes before it; constants that both parts read count in each
  int64_t sent_bytes = 0;
};

// The points at which less is sent than at every one before it and than the input is, in the order
// of nodes: others cost more here and more to send. The rest reads no input of the network, and has
// all of its outputs.
std::vector<SplitPoint> split_points(const Graph& network);

struct SplitNetwork {
  Graph first, rest;  // the outputs of one are the inputs of the other, in order and by name
  int64_t sent_bytes = 0;
};

// kInvalidArgument unless the network can be cut there, as split_points() says.
Result<SplitNetwork> split_after(const Graph& network, size_t nodes);

}  // namespace shoal::prefix
