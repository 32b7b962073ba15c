// An id of kNoValue means that an earlier step failed.
#include "shoal/model/ops/chain.h"

#include "shoal/model/ops/convert.h"
#include "shoal/model/ops/onnx_dtype.h"
#include "shoal/model/ops/ops.h"
#include "shoal/model/ops/require.h"

namespace shoal::ops {

std::vector<ValueId> Chain::add_all(const Operator& op, std::vector<ValueId> inputs,
                                    Attributes attributes, size_t outputs) {
  if (status_.ok()) {
    auto ids = graph_.add_node(op, std::move(inputs), std::move(attributes),
                               std::vector<std::string>(outputs));
    if (ids.ok()) return *std::move(ids);
    status_ = ids.status();
  }
  return std::vector<ValueId>(outputs, kNoValue);
}

ValueId Chain::add(const Operator& op, std::vector<ValueId> inputs, Attributes attributes) {
  return add_all(op, std::move(inputs), std::move(attributes), 1)[0];
}

ValueId Chain::scalar(double value) {
  return constant(converted(Tensor::of<double>({}, {value}), dtype_));
}

ValueId Chain::constant(Tensor tensor) {
  return graph_.add_constant("constant", std::move(tensor));
}

ValueId Chain::list(std::span<const int64_t> elements) { return constant(list_of(elements)); }

ValueId Chain::zeros(const Shape& shape) { return stretch_to(scalar(0), shape); }

ValueId Chain::reshape(ValueId x, const Shape& shape) {
  if (shape_of(x) == shape) return x;
  // With allowzero, a dimension of 0 means an empty tensor, not "copy this dimension from the
  // input".
  return add(ops::reshape, {x, list(shape)}, {{"allowzero", int64_t{1}}});
}

ValueId Chain::transpose(ValueId x, std::vector<int64_t> permutation) {
  return add(ops::transpose, {x}, {{"perm", std::move(permutation)}});
}

ValueId Chain::reduce_sum(ValueId x, std::span<const int64_t> axes) {
  return axes.empty() ? x : add(ops::reduce_sum, {x, list(axes)});
}

ValueId Chain::sum_to(ValueId x, const Shape& shape) {
  const Shape from = shape_of(x);
  if (from.rank() < shape.rank()) return x;  // after a failure only
  const size_t more = from.rank() - shape.rank();
  std::vector<int64_t> axes;
  // Two kinds of axes were stretched: those that `shape` lacks, and those where it has 1. ReduceSum
  // keeps its axes, so the reshape at the end drops only the former.
  for (size_t d = 0; d < from.rank(); ++d) {
    if (d < more || (shape[d - more] == 1 && from[d] != 1)) axes.push_back(static_cast<int64_t>(d));
  }
  return reshape(reduce_sum(x, axes), shape);
}

ValueId Chain::stretch_to(ValueId x, const Shape& shape) {
  if (shape_of(x) == shape) return x;
  return add(ops::expand, {x, list(shape)});
}

ValueId Chain::only_where(ValueId condition, ValueId x) {
  return add(ops::where, {condition, x, scalar(0)});
}

ValueId Chain::cast(ValueId x) { return add(ops::cast, {x}, {{"to", onnx_number_of(dtype_)}}); }

Shape Chain::shape_of(ValueId id) const { return id == kNoValue ? Shape() : graph_[id].type.shape; }

Result<std::vector<ValueId>> Chain::finish(std::vector<ValueId> values) const {
  if (!status_.ok()) return status_;
  return values;
}

}  // namespace shoal::ops
