// Products that can be coded: their split divides the weights and the output but not the input, so
// that the same product with a sum of the others' weights gives the sum of their outputs.
#pragma once

#include <span>
#include <vector>

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

// Whether the product can be cut as it is: no activation, no rounding.
bool is_plain(const Node& node);

// A step towards a plain product, for a node that can be coded: bias and activation of fused
// operators and the rounding of quantised ones become nodes of their own. Reads `inputs` and
// returns the value that stands for the output.
Result<ValueId> append_lowered(Node node, std::vector<ValueId> inputs, Graph& graph);

}  // namespace shoal::plan
