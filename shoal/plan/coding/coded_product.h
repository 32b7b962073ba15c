// Coded product: a product in shares, and parities of them, which are the same product with sums of
// the shares' weights.
#pragma once

#include <vector>

#include "shoal/plan/coding/products.h"

namespace shoal::plan {

struct CodedProduct {
  std::vector<ValueId> data, parity;
  std::vector<std::vector<double>> coefficients;  // by parity and data
};

// OK iff all sums of a plain product's integers are exact. Products of reals are always fine.
Status check_exact(const Graph& graph, const Node& node, const SplitProduct& split, int parities);

// Appends the shares and parities to `graph`. The node, a plain product of `from`, says what the
// weights are; `inputs` are its inputs in `graph`.
//
// Integers add up exactly, but sums of 8-bit weights do not fit 8 bits: a parity of such a product
// is two products, one per digit, and so costs twice as much as a share.
Result<CodedProduct> append_coded(const Graph& from, const Node& node, const SplitProduct& split,
                                  const std::vector<ValueId>& inputs, int parities, Graph& graph);

}  // namespace shoal::plan
