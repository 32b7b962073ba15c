// ConstantOfShape: a tensor of the shape that the input lists, all elements equal to `value`. An
// empty list gives a scalar. Negative dimensions are refused with the type.
#include "shoal/model/graph/graph.h"
#include "shoal/model/ops/copy.h"
#include "shoal/model/ops/record.h"
#include "shoal/model/ops/require.h"

namespace shoal::ops {
namespace {

// The element; an f32 zero if the attribute is left out.
Tensor value_of(const Node& node) {
  return attribute<Tensor>(node.attributes, "value", Tensor({DType::kF32, {1}}));
}

Result<std::vector<TensorType>> infer_constant_of_shape(const Node& node,
                                                        std::span<const Operand> inputs) {
  const Tensor value = value_of(node);
  SHOAL_TRY(require_single({true, value.type(), &value}));
  SHOAL_ASSIGN(std::vector<int64_t> dims, require_list(inputs[0]));
  if (dims.size() > Shape::kMaxRank) return invalid("more than 8 dimensions");
  return std::vector{TensorType{value.dtype(), Shape(dims)}};
}

void reference_constant_of_shape(const Node& node, std::span<const Tensor>,
                                 std::span<Tensor> outputs) {
  const Tensor value = value_of(node);
  fill(outputs[0].bytes(), value.bytes().data(), size_of(value.dtype()));
}

// The tile has its own shape, so the list is replaced.
std::optional<Tile> split_constant_of_shape(const Node& node, std::span<const Operand> inputs,
                                            const Region& output) {
  Tile tile{{Region::whole(inputs[0].type.shape)}, output, node.attributes, {}};
  tile.constants[0] = list_of(output.shape());
  return tile;
}

}  // namespace

SHOAL_RECORD(constant_of_shape) = {.name = "ConstantOfShape",
                                   .value_inputs = 1 << 0,
                                   .infer = infer_constant_of_shape,
                                   .reference = reference_constant_of_shape,
                                   .split = split_constant_of_shape,
                                   .linear_time = true};

}  // namespace shoal::ops
