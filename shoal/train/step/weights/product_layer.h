// Layers that multiply by a weight: what of its shape are inputs and outputs.
#pragma once

#include <cstdint>
#include <optional>

#include "shoal/base/math/random.h"
#include "shoal/model/graph/graph.h"

namespace shoal::train {

struct ProductLayer {
  size_t weight;       // which input of the node
  size_t output_axis;  // of the weight: one entry per output channel
  int64_t fan_in;      // how many terms a sum over inputs has
  int64_t fan_out;     // how many sums an input is in
};

// Nothing where the node is no product with a constant weight.
std::optional<ProductLayer> as_product(const Graph& graph, const Node& node);

// Random elements for its weight, of a shape that may differ from the present one in the outputs.
Tensor fresh_weight(const Graph& graph, const Node& node, const ProductLayer& layer,
                    const Shape& shape, RandomStream random);

}  // namespace shoal::train
