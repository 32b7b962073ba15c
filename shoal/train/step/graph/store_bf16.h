// A training step in less memory: activations are stored as bfloat16 between forward and backward
// pass. Arithmetic and weights stay f32; what the backward pass reads is rounded to 8 significant
// bits.
#pragma once

#include "shoal/base/status.h"
#include "shoal/model/graph/graph.h"

namespace shoal::train {

// The step with its saved activations stored as bfloat16. The forward pass, which ends with the
// node that computes `loss`, is unchanged: loss and scores are the same, bit by bit.
Result<Graph> store_bf16(const Graph& step, ValueId loss);

}  // namespace shoal::train
