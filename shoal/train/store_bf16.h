// A step of training in less memory: what the way forward made waits for the way back as bfloat16.
// Arithmetic and weights stay floats; what the way back reads is rounded to 8 significant bits.
#pragma once

#include "shoal/base/status.h"
#include "shoal/graph/graph.h"

namespace shoal::train {

// The way forward ends with the node that makes `loss`; it computes what it did.
Result<Graph> store_bf16(const Graph& step, ValueId loss);

}  // namespace shoal::train
