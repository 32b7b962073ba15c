// Coded product: a product split into shares, and parities, which are the same product with sums of
// the shares' weights.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "shoal/model/graph/graph.h"
#include "shoal/plan/coding/products.h"
#include "shoal/plan/plan.h"

namespace shoal::plan {

struct CodedProduct {
  std::vector<ValueId> data, parity;
  std::vector<std::vector<double>> coefficients;  // by parity and data
};

// OK iff all sums of a plain product's integers are exact. Products of reals are always fine.
Status check_exact(const Graph& graph, const Node& node, const SplitProduct& split, int parities);

// Appends the shares and parities to `graph`. The node is a plain product of `from`; `inputs` are
// its inputs in `graph`.
//
// Integers add up exactly, but sums of 8-bit weights do not fit 8 bits: a parity of such a product
// is two products, one per digit, and so costs twice as much as a share.
Result<CodedProduct> append_coded(const Graph& from, const Node& node, const SplitProduct& split,
                                  const std::vector<ValueId>& inputs, int parities, Graph& graph);

// Coded segments: finds the products of a plan that can be coded.

// A product and the workers of its blocks.
struct SharedProduct {
  SplitProduct split;
  std::vector<int> workers;
};

struct CodedSegment {
  std::map<size_t, SharedProduct> products;  // by node; empty: the segment must be repeated
  std::string why_not;
  bool is_light = false;  // has no product, so that readers may compute it themselves
};

// For one segment, and for a whole plan. Besides a product's workers, `spare` workers must be left
// for parities.
CodedSegment find_coded_segment(const Graph& graph, const Segment& segment,
                                const std::vector<Part>& parts, size_t spare,
                                const std::vector<int>& workers);
std::vector<CodedSegment> find_coded_segments(const Graph& graph, const Plan& plan,
                                              const Schedule& schedule, size_t spare,
                                              const std::vector<int>& workers);

// Rounding: how much two correct computations of a graph may differ.

// A bound of the difference between any value of the graph and the same value computed in another
// order, by another instruction set or from decoded shares, relative to the largest element.
double rounding_bound(const Graph& graph);

}  // namespace shoal::plan
