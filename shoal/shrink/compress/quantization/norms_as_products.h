// Batch normalisation that no product takes up, as behind an activation, becomes a product itself.
#pragma once

#include "shoal/base/status.h"
#include "shoal/model/graph/graph.h"

namespace shoal::compress {

// The graph in which each BatchNormalization of images in f32, with constants and not in training,
// is a Conv of one weight per channel. It costs a little more in floats, but bytes can go through
// it: EtinyNet has one behind each ReLU. Fails as passes do.
Result<Graph> norms_as_products(const Graph& graph);

}  // namespace shoal::compress
