// Shape and Size: the dimensions of a tensor and their product, as i64. They read no elements, so
// they are folded wherever the type is known.
#include <algorithm>

#include "shoal/model/graph/graph.h"
#include "shoal/model/ops/record.h"
#include "shoal/model/ops/require.h"

namespace shoal::ops {
namespace {

// The dimensions [start, end) (opset 15). Both count from the end if negative and are clamped to
// the rank.
std::span<const int64_t> dimensions_of(const Node& node, const Shape& shape) {
  const auto rank = static_cast<int64_t>(shape.rank());
  auto axis = [&](int64_t i) { return std::clamp<int64_t>(i < 0 ? i + rank : i, 0, rank); };
  const int64_t start = axis(node.integer("start", 0)), end = axis(node.integer("end", rank));
  return {shape.begin() + start, static_cast<size_t>(std::max<int64_t>(end - start, 0))};
}

Result<std::vector<TensorType>> infer_shape(const Node& node, std::span<const Operand> inputs) {
  const auto count = static_cast<int64_t>(dimensions_of(node, inputs[0].type.shape).size());
  return std::vector{TensorType{DType::kI64, {count}}};
}

void write_shape(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  std::ranges::copy(dimensions_of(node, inputs[0].shape()), outputs[0].data<int64_t>().begin());
}

Result<std::vector<TensorType>> infer_size(const Node&, std::span<const Operand>) {
  return std::vector{TensorType{DType::kI64, {}}};
}

void write_size(const Node&, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  outputs[0].data<int64_t>()[0] = inputs[0].count();
}

}  // namespace

SHOAL_RECORD(shape_) = {.name = "Shape",
                        .infer = infer_shape,
                        .reference = write_shape,
                        .linear_time = true,
                        .reads_types_only = true};
SHOAL_RECORD(size_) = {.name = "Size",
                       .infer = infer_size,
                       .reference = write_size,
                       .linear_time = true,
                       .reads_types_only = true};

}  // namespace shoal::ops
