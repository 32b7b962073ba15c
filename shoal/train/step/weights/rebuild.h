// Rebuilds a network with other constants or another batch; types are inferred anew.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "shoal/base/math/random.h"
#include "shoal/base/status.h"
#include "shoal/model/graph/graph.h"

namespace shoal::train {

// Replaces constants by name; shapes may differ.
Result<Graph> rebuilt(const Graph& network, const std::map<std::string, Tensor>& constants);

// Replaces the elements of these constants; types must match, and all names must exist.
Result<Graph> with_constants(const Graph& network, const std::map<std::string, Tensor>& constants);

// For batches of another size: the first axis of the one input. Refuses networks in which a
// constant, such as the target of a Reshape, depends on the batch.
Result<Graph> rebatched(const Graph& network, int64_t batch);

struct ProductLayer {
  size_t weight;       // the node's input
  size_t output_axis;  // of the weight: one entry per output channel
  int64_t fan_in;      // terms of a sum over inputs
  int64_t fan_out;     // sums that an input is in
};

// nullopt if the node is no product with a constant weight.
std::optional<ProductLayer> as_product(const Graph& graph, const Node& node);

// Random elements for its weight; the shape may have another number of outputs.
Tensor fresh_weight(const Graph& graph, const Node& node, const ProductLayer& layer,
                    const Shape& shape, RandomStream random);

}  // namespace shoal::train
