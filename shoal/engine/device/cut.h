// Cutting a graph between two devices.
#pragma once

#include <cstddef>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/model/graph/graph.h"

namespace shoal {

// Nodes that one device computes in one run, and the values they exchange.
struct GraphPart {
  size_t side = 0;             // which of the two devices
  std::vector<size_t> nodes;   // in the graph's order
  std::vector<ValueId> reads;  // inputs of the graph and values of earlier parts
  std::vector<ValueId> gives;  // values that later parts read, and outputs of the graph
};

// `sides` says for each node which device computes it, 0 or 1. Every part reads only what earlier
// parts give.
//
// The phase of a node is the number of changes of device on the longest path to it, where phases
// of device `start` are even and those of the other odd. Nodes of one phase are one part. An edge
// never leads to a lower phase, and inside a phase it stays on one device, so parts are convex and
// run in the order of phases. No cut whose parts alternate beginning with `start` has fewer; the
// better start is taken.
std::vector<GraphPart> cut_graph(const Graph& graph, const std::vector<size_t>& sides);

// The part as a separate graph: inputs are part.reads, outputs are part.gives.
Result<Graph> graph_of_part(const Graph& graph, const GraphPart& part);

}  // namespace shoal
