// Expanding fused operators into ONNX's own, so that a product that they contain can be rewritten:
// it is linear, and what comes after it, an activation, is a node of its own.
#pragma once

#include <map>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/model/graph/graph.h"

namespace shoal::plan {

struct ExpandedProducts {
  Graph graph;
  std::map<size_t, size_t> products;  // by node that was expanded: its product in the new graph
};

// The same function as `graph`, with these nodes expanded. kUnsupported if one has no contraction
// or is not linear. REQUIRES: the nodes are of the graph.
Result<ExpandedProducts> expand_products(const Graph& graph, const std::vector<size_t>& nodes);

// A graph of this node alone, to try a rewrite on.
Result<Graph> graph_of(const Graph& graph, const Node& node);

}  // namespace shoal::plan
