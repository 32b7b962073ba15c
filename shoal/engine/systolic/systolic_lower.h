// Quantised products as integer products, which the array computes, and nodes that add the bias,
// scale and round.
#pragma once

#include "shoal/model/graph/graph.h"

namespace shoal::systolic {

// The graph with QLinearConv, FusedQLinearConv, QGemm and QLinearMatMul as ConvInteger or
// MatMulInteger and what follows. The answers are the same to the last bit. A node whose parameters
// have shapes that the new nodes do not take stays as it is.
Result<Graph> lower_quantized(const Graph& graph);

}  // namespace shoal::systolic
