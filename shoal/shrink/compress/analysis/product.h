// Products with constant weights, which are worth compressing.
#pragma once

#include <optional>

#include "shoal/model/graph/graph.h"

namespace shoal::compress {

struct WeightedProduct {
  const Tensor* weights = nullptr;  // f32
  const Tensor* bias = nullptr;     // f32, one per output channel; null: none
  size_t channel_axis = 0;          // of the weights: that of the output channels
};

// Nothing if the node is no Conv, Gemm or MatMul, or one that integers cannot stand for.
std::optional<WeightedProduct> product_of(const Graph& graph, const Node& node);

}  // namespace shoal::compress
