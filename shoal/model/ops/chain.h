// Chain: appends nodes to a graph one after the other. Expansions of our own operators and
// gradients are written with it, one line per term of their formula.
#pragma once

#include <span>
#include <vector>

#include "shoal/model/graph/graph.h"

namespace shoal::ops {

// Errors are collected: after the first failure, which finish() returns, add() adds nothing and
// gives kNoValue. So formulas need no checks between terms. Not thread-safe; `graph` must outlive
// the Chain.
class Chain {
 public:
  // Scalars are of the type of the elements of `like`.
  Chain(Graph& graph, ValueId like) : graph_(graph), dtype_(graph[like].type.dtype) {}

  ValueId add(const Operator& op, std::vector<ValueId> inputs, Attributes attributes = {});
  std::vector<ValueId> add_all(const Operator& op, std::vector<ValueId> inputs,
                               Attributes attributes, size_t outputs);

  ValueId scalar(double value);
  ValueId constant(Tensor tensor);
  ValueId list(std::span<const int64_t> elements);  // i64: a shape, axes
  ValueId zeros(const Shape& shape);

  ValueId reshape(ValueId x, const Shape& shape);
  ValueId transpose(ValueId x, std::vector<int64_t> permutation);
  ValueId reduce_sum(ValueId x, std::span<const int64_t> axes);  // kept, with size 1
  // The gradient of stretch_to: the sum of x over the copies of each element of a tensor of
  // `shape`.
  ValueId sum_to(ValueId x, const Shape& shape);
  ValueId stretch_to(ValueId x, const Shape& shape);
  // x where the condition holds, else 0.
  ValueId only_where(ValueId condition, ValueId x);
  ValueId cast(ValueId x);  // to the type of scalars

  Shape shape_of(ValueId id) const;  // a copy: values move as the graph grows
  const Status& status() const { return status_; }
  // The values, or the first failure of any call above.
  Result<std::vector<ValueId>> finish(std::vector<ValueId> values) const;

 private:
  Graph& graph_;
  DType dtype_;
  Status status_;
};

}  // namespace shoal::ops
