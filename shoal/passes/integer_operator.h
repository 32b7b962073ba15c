// The rules of fold_qdq: which operator of integers stands for a float one that reads quantised
// values and whose result is quantised.
#pragma once

#include "shoal/ops/quantized/quantize.h"
#include "shoal/passes/quantized.h"

namespace shoal::passes {

// Where a float operator's result is quantised.
struct QuantizedResult {
  const Node& node;    // the QuantizeLinear
  Quantized y;         // its parameters
  ops::Bounds bounds;  // what Relu or Clip before it leave of the type's range
};

// Puts an operator of integers, fed with what `values` says of the inputs of `node`, in the place
// of the QuantizeLinear. Says no, and does nothing of consequence, where there is none.
bool fold_operator(Rewriter& rewriter, const QuantizedValues& values, const QuantizedResult& result,
                   const Node& node);

// A Gemm whose result stays real.
bool fold_real_gemm(Rewriter& rewriter, const QuantizedValues& values, const Node& gemm);

}  // namespace shoal::passes
