// The rules of fold_qdq: the operator of integers for a float one that reads quantised values and
// whose result is quantised.
#pragma once

#include "shoal/model/ops/quantized/quantize.h"
#include "shoal/model/passes/fusion/quantized.h"

namespace shoal::passes {

// The place where the result of a float operator is quantised.
struct QuantizedResult {
  const Node& node;    // the QuantizeLinear
  Quantized y;         // its parameters
  ops::Bounds bounds;  // the range that Relu or Clip before it leaves
};

// Puts an operator of integers in the place of the QuantizeLinear, on the quantised inputs of
// `node` that `values` knows. Returns false where there is no such operator; constants that it may
// have added by then are dead code.
bool fold_operator(Rewriter& rewriter, const QuantizedValues& values, const QuantizedResult& result,
                   const Node& node);

// The same for a Gemm whose result stays real.
bool fold_real_gemm(Rewriter& rewriter, const QuantizedValues& values, const Node& gemm);

}  // namespace shoal::passes
