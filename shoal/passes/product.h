// Products taken apart: the patterns that exporters write in every order they can be written in.
#pragma once

#include <vector>

#include "shoal/passes/use_defs.h"

namespace shoal::passes {

// scale * factors[0] * factors[1] * ...
struct Product {
  double scale = 1;
  std::vector<ValueId> factors;

  bool is(double expected_scale, std::vector<ValueId> expected_factors) const;
};

// The value as a product, as far back as Mul, Div by a scalar and Pow with a small exponent go that
// compute for nobody else. A value that is no product is one factor.
Product product(const Graph& graph, const UseDefs& links, ValueId id);

}  // namespace shoal::passes
