// Products that can be coded: their split divides the weights and the output but not the input, so
// that the same product with a sum of the others' weights gives the sum of their outputs.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/model/graph/graph.h"
#include "shoal/plan/part.h"

namespace shoal::plan {

// A product as its tasks share it.
struct SplitProduct {
  size_t axis = 0;             // of the output
  std::vector<Region> blocks;  // of the output, by task; along the axis, one after the other
};

// `tiles` are the node's, by task. The error says why it cannot be coded.
Result<SplitProduct> find_split(const Graph& graph, const Node& node,
                                std::span<const Tile* const> tiles);

// Whether the product can be cut unchanged: no activation, no rounding.
bool is_plain(const Node& node);

// A step towards a plain product, for a node that can be coded: bias and activation of fused
// operators and the rounding of quantised ones become separate nodes. Reads `inputs` and returns
// the value that stands for the output.
Result<ValueId> append_lowered(Node node, std::vector<ValueId> inputs, Graph& graph);

// Expanding fused operators into ONNX's own, so that a product that they contain can be rewritten:
// it is linear, and an activation after it is a separate node.
struct ExpandedProducts {
  Graph graph;
  std::map<size_t, size_t> products;  // by node that was expanded: its product in the new graph
};

// The same function as `graph`, with these nodes expanded. kUnsupported if one has no contraction
// or is not linear. REQUIRES: the nodes are of the graph.
Result<ExpandedProducts> expand_products(const Graph& graph, const std::vector<size_t>& nodes);

// A graph of this node alone, to try a rewrite on.
Result<Graph> graph_of(const Graph& graph, const Node& node);

// Partial sums: a product as a sum of products over slices of its contracted axis, so that the
// inputs of a layer can be divided among workers and not only its outputs. The makers of those
// inputs are then also needed in part only: heads of an attention, columns of the layer before.

// A node to be computed as a sum, with one term for each share of the contracted axis.
struct SumOfTerms {
  size_t node = 0;
  std::vector<double> shares;
};

// Whether with_partial_sums() can rewrite the node.
bool can_be_sum(const Graph& graph, const Node& node);

// The same function as `graph`. The bias goes into the first term; an activation comes after the
// sum. kUnsupported if a node has no contraction or is not linear.
Result<Graph> with_partial_sums(const Graph& graph, const std::vector<SumOfTerms>& sums);

// Appends a slice [begin, end) of a value along an axis. The slice of a weight is taken when a
// part's graph is made.
Result<ValueId> append_slice(Graph& graph, ValueId value, size_t axis, int64_t begin, int64_t end);

}  // namespace shoal::plan
