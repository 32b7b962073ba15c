// OneHot: y[i.., d, k..] = d == index[i.., k..] ? on : off, with a new axis of length `depth`.
// Negative indices count from the end; an index out of range gives a line of `off`. Indices and
// depth may be floats, which are truncated.
#include "shoal/model/graph/graph.h"
#include "shoal/model/ops/convert.h"
#include "shoal/model/ops/copy.h"
#include "shoal/model/ops/record.h"
#include "shoal/model/ops/require.h"

namespace shoal::ops {
namespace {

Result<int64_t> depth_of(const Operand& operand) {
  SHOAL_TRY(require<Numbers>(operand));
  SHOAL_TRY(require_single(operand));
  const int64_t depth = converted(*operand.value, DType::kI64).data<int64_t>()[0];
  if (depth < 0) return invalid("depth " + std::to_string(depth) + " is negative");
  return depth;
}

// The new axis, in [0, rank of the output).
Result<size_t> axis_of(const Node& node, const Shape& indices) {
  return require_axis(node.integer("axis", -1), indices.rank() + 1);
}

Result<std::vector<TensorType>> infer_one_hot(const Node& node, std::span<const Operand> inputs) {
  SHOAL_TRY(require<Numbers>(inputs[0]));
  const Shape &indices = inputs[0].type.shape, &values = inputs[2].type.shape;
  if (values != Shape{2}) return invalid("values has shape " + to_string(values) + ", not [2]");
  if (indices.rank() == Shape::kMaxRank) return invalid("more than 8 dimensions");
  SHOAL_ASSIGN(size_t axis, axis_of(node, indices));
  SHOAL_ASSIGN(int64_t depth, depth_of(inputs[1]));
  Shape shape;
  for (size_t d = 0; d <= indices.rank(); ++d) {
    shape.push_back(d == axis ? depth : indices[d < axis ? d : d - 1]);
  }
  return std::vector{TensorType{inputs[2].type.dtype, shape}};
}

void reference_one_hot(const Node& node, std::span<const Tensor> inputs,
                       std::span<Tensor> outputs) {
  const Shape& shape = outputs[0].shape();  // [outer, depth, inner]
  const size_t axis = *axis_of(node, inputs[0].shape());
  const int64_t depth = shape[axis], inner = shape.count(axis + 1, shape.rank());
  const size_t size = size_of(outputs[0].dtype());
  const std::byte* off = inputs[2].bytes().data();
  const std::byte* on = off + size;
  fill(outputs[0].bytes(), off, size);
  const Tensor indices = converted(inputs[0], DType::kI64);
  int64_t k = 0;
  for (int64_t index : indices.data<int64_t>()) {
    const int64_t outer = k / inner, i = k % inner;
    ++k;
    if (index < -depth || index >= depth) continue;
    const int64_t at = (outer * depth + (index < 0 ? index + depth : index)) * inner + i;
    std::memcpy(outputs[0].bytes().data() + static_cast<size_t>(at) * size, on, size);
  }
}

// The new axis is never cut: its length is `depth` in every tile.
std::optional<Tile> split_one_hot(const Node& node, std::span<const Operand> inputs,
                                  const Region& output) {
  const size_t axis = *axis_of(node, inputs[0].type.shape);
  Region written = output, indices = Region::whole(inputs[0].type.shape);
  written.begin[axis] = 0;
  written.end[axis] = *depth_of(inputs[1]);
  for (size_t d = 0; d < indices.begin.rank(); ++d) {
    indices.begin[d] = output.begin[d < axis ? d : d + 1];
    indices.end[d] = output.end[d < axis ? d : d + 1];
  }
  return Tile{{indices, Region::whole(inputs[1].type.shape), Region::whole(inputs[2].type.shape)},
              written,
              node.attributes,
              {}};
}

}  // namespace

SHOAL_RECORD(one_hot) = {.name = "OneHot",
                         .min_inputs = 3,
                         .max_inputs = 3,
                         .value_inputs = 1 << 1,
                         .infer = infer_one_hot,
                         .reference = reference_one_hot,
                         .split = split_one_hot,
                         .linear_time = true};

}  // namespace shoal::ops
