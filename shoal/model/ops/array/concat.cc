// Concat: y = [x_0, x_1, ...] along `axis`. The gradient is a Split. Shapes must agree in all other
// axes; empty inputs are allowed.
#include <algorithm>

#include "shoal/base/checked.h"
#include "shoal/model/graph/graph.h"
#include "shoal/model/ops/copy.h"
#include "shoal/model/ops/gradient.h"
#include "shoal/model/ops/record.h"
#include "shoal/model/ops/require.h"

namespace shoal::ops {
namespace {

Result<std::vector<TensorType>> infer_concat(const Node& node, std::span<const Operand> inputs) {
  SHOAL_TRY(require_given(inputs));
  SHOAL_TRY(require_same_type(inputs));
  TensorType type = inputs[0].type;
  SHOAL_ASSIGN(int64_t given, require_integer(node, "axis"));
  SHOAL_ASSIGN(size_t axis, require_axis(given, type.shape.rank()));
  // A graph may join any number of inputs, so the sum is checked. An overflow compares as the
  // largest integer, which is refused with the type.
  Checked length = 0;
  for (const Operand& input : inputs) {
    Shape aligned = input.type.shape;
    if (aligned.rank() == type.shape.rank()) aligned[axis] = type.shape[axis];
    if (aligned != type.shape) {
      return invalid("shapes " + to_string(type.shape) + " and " + to_string(input.type.shape) +
                     " differ in more than axis " + std::to_string(axis));
    }
    length = length + input.type.shape[axis];
  }
  type.shape[axis] = length.value();
  return std::vector{type};
}

void reference_concat(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const Strides strides = strides_of(outputs[0].shape());
  const size_t axis = axis_in(node.integer("axis", 0), strides.rank());
  const size_t size = size_of(outputs[0].dtype());
  std::byte* to = outputs[0].bytes().data();
  for (const Tensor& input : inputs) {
    const Shape& shape = input.shape();
    copy_strided(shape, size, {input.bytes().data(), strides_of(shape)}, {to, strides});
    to += static_cast<size_t>(shape[axis] * strides[axis]) * size;
  }
}

// Each input contributes the part of it that falls into the region, which may be empty.
std::optional<Tile> split_concat(const Node& node, std::span<const Operand> inputs,
                                 const Region& output) {
  const size_t axis = axis_in(node.integer("axis", 0), output.begin.rank());
  Tile tile{{}, output, node.attributes, {}};
  int64_t before = 0;
  for (const Operand& input : inputs) {
    const int64_t length = input.type.shape[axis];
    Region read = output;
    read.begin[axis] = std::clamp<int64_t>(output.begin[axis] - before, 0, length);
    read.end[axis] = std::clamp<int64_t>(output.end[axis] - before, 0, length);
    tile.inputs.push_back(read);
    before += length;
  }
  return tile;
}

}  // namespace

SHOAL_RECORD(concat) = {.name = "Concat",
                        .min_inputs = 1,
                        .max_inputs = kAnyNumber,
                        .infer = infer_concat,
                        .reference = reference_concat,
                        .split = split_concat,
                        .linear_time = true,
                        .gradient = concat_gradient};

}  // namespace shoal::ops
