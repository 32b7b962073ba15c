// Expand: the input broadcast against a shape. Broadcasting goes both ways: a dimension of 1 in the
// shape takes that of the input. Gradient: the sum over the copies of each element.
#include "shoal/model/graph/graph.h"
#include "shoal/model/ops/broadcast.h"
#include "shoal/model/ops/copy.h"
#include "shoal/model/ops/gradient.h"
#include "shoal/model/ops/record.h"
#include "shoal/model/ops/require.h"

namespace shoal::ops {
namespace {

Result<std::vector<TensorType>> infer_expand(const Node&, std::span<const Operand> inputs) {
  SHOAL_ASSIGN(std::vector<int64_t> dims, require_list(inputs[1]));
  if (dims.size() > Shape::kMaxRank) return invalid("more than 8 dimensions");
  for (int64_t dim : dims) {
    if (dim < 0) return invalid("dimension " + std::to_string(dim) + " is negative");
  }
  SHOAL_ASSIGN(Shape shape, broadcast(std::array{inputs[0].type.shape, Shape(dims)}));
  return std::vector{TensorType{inputs[0].type.dtype, shape}};
}

void reference_expand(const Node&, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const Shape& shape = outputs[0].shape();
  copy_strided(shape, size_of(inputs[0].dtype()),
               {inputs[0].bytes().data(), broadcast_strides(inputs[0].shape(), shape)},
               {outputs[0].bytes().data(), strides_of(shape)});
}

// The tile is expanded to its own shape, so the list is replaced.
std::optional<Tile> split_expand(const Node& node, std::span<const Operand> inputs,
                                 const Region& output) {
  Tile tile{{broadcast_region(inputs[0].type.shape, output), Region::whole(inputs[1].type.shape)},
            output,
            node.attributes,
            {}};
  tile.constants[1] = list_of(output.shape());
  return tile;
}

// A dimension of 1 stays: it takes that of the input.
std::optional<Settings> shrink_expand(const Node& node, std::span<const Operand> inputs,
                                      const Remainder& left) {
  std::vector<int64_t> dims = *require_list(inputs[1]);
  const Remainder::Axes& axes = left.outputs[0];
  for (size_t d = 0; d < dims.size(); ++d) {
    if (dims[d] != 1) dims[d] = std::ssize(axes[axes.size() - dims.size() + d]);
  }
  return Settings{node.attributes, {{1, list_like(inputs[1], dims)}}};
}

}  // namespace

SHOAL_RECORD(expand) = {.name = "Expand",
                        .min_inputs = 2,
                        .max_inputs = 2,
                        .value_inputs = 1 << 1,
                        .infer = infer_expand,
                        .reference = reference_expand,
                        .split = split_expand,
                        .shrink = shrink_expand,
                        .linear = true,
                        .linear_time = true,
                        .gradient = expand_gradient};

}  // namespace shoal::ops
