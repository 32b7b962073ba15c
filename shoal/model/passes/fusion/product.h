// Decomposes products into a scale and factors, so that patterns match in any order.
#pragma once

#include <vector>

#include "shoal/model/passes/rewriter.h"

namespace shoal::passes {

// scale * factors[0] * factors[1] * ...
struct Product {
  double scale = 1;
  std::vector<ValueId> factors;

  bool is(double expected_scale, std::vector<ValueId> expected_factors) const;
};

// The value as a product, through Mul, Div by a scalar and Pow with a small integer exponent, as
// far as these have no other readers. A value that is not a product is one factor.
Product product(const Graph& graph, const UseDefs& links, ValueId id);

}  // namespace shoal::passes
