// What compression asks about nodes and values: products with constant weights, values that
// training learns, bytes.
#pragma once

#include <optional>
#include <vector>

#include "shoal/model/graph/graph.h"

namespace shoal::compress {

struct WeightedProduct {
  const Tensor* weights = nullptr;  // f32
  const Tensor* bias = nullptr;     // f32, one per output channel; null: none
  size_t channel_axis = 0;          // of the weights: that of the output channels
};

// nullopt unless the node is a Conv, Gemm or MatMul that integers can compute.
std::optional<WeightedProduct> product_of(const Graph& graph, const Node& node);

// Per value, whether it is a parameter of a node (model/graph/parameter.h). Pure.
std::vector<bool> learned_values(const Graph& graph);

// The first node that reads a constant of bytes or makes bytes from reals; null if there is none.
// An image of bytes is neither. Valid as long as the graph.
const Node* quantised_node(const Graph& graph);

}  // namespace shoal::compress
