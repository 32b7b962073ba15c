// What the layers of a graph read, seen by running it on examples.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "shoal/shrink/compress/analysis/second_moment.h"
#include "shoal/shrink/compress/methods/methods.h"

namespace shoal::compress {

// A layer: a node, and the axis of its input 0 along which its features lie.
struct LayerPlace {
  const Node* node = nullptr;
  size_t axis = 0;
};

// The inputs of one layer.
struct LayerInputs {
  // Nothing if there are no examples, or too many features for a matrix of their products.
  std::optional<SecondMoment> moment;
  // Some inputs to judge by. They are no part of the moment if there are several examples: what was
  // fitted to them would look better than it is. Without examples, one that is random.
  std::vector<Tensor> judged;
};

// Runs the graph on the examples of the context; needs up to 32 MB for each layer, and the judged
// inputs. Fails as the examples and the device do. REQUIRES: nodes are of the graph, and read f32.
Result<std::vector<LayerInputs>> inputs_of(const Graph& graph, std::span<const LayerPlace> layers,
                                           const Context& context);

}  // namespace shoal::compress
