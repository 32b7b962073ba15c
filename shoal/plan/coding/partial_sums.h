// Partial sums: a product as a sum of products over slices of its contracted axis, so that the
// inputs of a layer can be divided among workers and not only its outputs. The makers of those
// inputs are then also needed in part only: heads of an attention, columns of the layer before.
#pragma once

#include <vector>

#include "shoal/base/status.h"
#include "shoal/model/graph/graph.h"

namespace shoal::plan {

// A node to be computed as a sum, with one term for each share of the contracted axis.
struct SumOfTerms {
  size_t node = 0;
  std::vector<double> shares;
};

// Whether with_partial_sums() can rewrite the node.
bool can_be_sum(const Graph& graph, const Node& node);

// The same function as `graph`. The bias goes into the first term; an activation comes after the
// sum. kUnsupported if a node has no contraction or is not linear.
Result<Graph> with_partial_sums(const Graph& graph, const std::vector<SumOfTerms>& sums);

// Appends a slice [begin, end) of a value along an axis. The slice of a weight is taken when a
// part's graph is made.
Result<ValueId> append_slice(Graph& graph, ValueId value, size_t axis, int64_t begin, int64_t end);

}  // namespace shoal::plan
