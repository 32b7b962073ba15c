// A network split in two: its first layers and the rest, which may run in two places (split
// execution [Han 2016]) that exchange `sent_bytes`.
//
// The network must be optimised by passes before, so that the parts fold only what the whole
// network does: on a device that chooses the same kernels for both, the results are the same bit by
// bit.
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

// A place to cut a network: after `nodes` of its nodes.
struct SplitPoint {
  size_t nodes = 0;
  Work first = {};  // of the nodes before it; constants that both parts read count in each
  int64_t sent_bytes = 0;
};

// The points that send less than the input and every earlier point, in the order of nodes: other
// points cost more here and more to send. The rest reads no input of the network, and has all of
// its outputs.
std::vector<SplitPoint> split_points(const Graph& network);

struct SplitNetwork {
  Graph first, rest;  // the outputs of one are the inputs of the other, in order and by name
  int64_t sent_bytes = 0;
};

// kInvalidArgument unless the network can be cut there, as split_points() says.
Result<SplitNetwork> split_after(const Graph& network, size_t nodes);

}  // namespace shoal::prefix
