// A network built again with other constants or another batch, all types inferred anew.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "shoal/base/math/random.h"
#include "shoal/base/status.h"
#include "shoal/model/graph/graph.h"

namespace shoal::train {

// With these constants, by name, for those that it has. Their shapes may be others.
Result<Graph> rebuilt(const Graph& network, const std::map<std::string, Tensor>& constants);

// With other elements for the constants of these names; types must be the same, and all there.
Result<Graph> with_constants(const Graph& network, const std::map<std::string, Tensor>& constants);

// For batches of another size: the first axis of its one input. Refuses networks in which a
// constant, such as the target of a Reshape, knows the batch.
Result<Graph> rebatched(const Graph& network, int64_t batch);

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
