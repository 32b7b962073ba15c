// Products that are better left real: what their rounding does to the answers, and the decision.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "shoal/shrink/compress/analysis/output_noise.h"
#include "shoal/shrink/compress/quantization/int8_options.h"
#include "shoal/shrink/compress/quantization/quantize.h"

namespace shoal::compress {

// A product, what the answers suffer if it alone is quantised, and the work of leaving it real.
struct ProductNoise {
  ValueId product = kNoValue;
  double noise = 0;  // as OutputNoise has it
  double work = 0;   // multiply-accumulates, and those that real values and weights are worth
};

// The products that stay real: the noisiest, until the noise of the others, which adds up as that
// of independent errors does, is as low as the rule asks for, or no other one fits into its share
// of the work. Of equal ones the first. Pure.
Products stay_real(std::span<const ProductNoise> products, const FallbackRule& rule);

// The noise of each product that can be quantised, by itself, at these ranges. Fails as the judge
// does. REQUIRES: the judge compares with `graph`, which prepare() made.
Result<std::vector<ProductNoise>> noises_alone(const Graph& graph, const Ranges& ranges,
                                               RangeRule weights, const NoiseJudge& judge);

}  // namespace shoal::compress
