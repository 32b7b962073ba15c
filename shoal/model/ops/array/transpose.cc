// Transpose: axis d of the output is axis perm[d] of the input; all axes reversed by default. The
// gradient is the Transpose by the inverse permutation.
#include "shoal/model/graph/graph.h"
#include "shoal/model/ops/copy.h"
#include "shoal/model/ops/gradient.h"
#include "shoal/model/ops/record.h"
#include "shoal/model/ops/require.h"

namespace shoal::ops {
namespace {

std::vector<int64_t> permutation_of(const Node& node, size_t rank) {
  if (node.has("perm")) return node.integers("perm");
  std::vector<int64_t> reversed;
  for (size_t d = rank; d-- > 0;) reversed.push_back(static_cast<int64_t>(d));
  return reversed;
}

Shape permuted(const Shape& shape, std::span<const int64_t> perm) {
  Shape result = shape;
  for (size_t d = 0; d < perm.size(); ++d) result[d] = shape[static_cast<size_t>(perm[d])];
  return result;
}

Result<std::vector<TensorType>> infer_transpose(const Node& node, std::span<const Operand> inputs) {
  const Shape& shape = inputs[0].type.shape;
  const std::vector<int64_t> perm = permutation_of(node, shape.rank());
  // ONNX has no negative axes here, though require_axes() would take them.
  SHOAL_TRY(require_axes(perm, shape.rank()).status());
  bool negative = false;
  for (int64_t axis : perm) negative |= axis < 0;
  if (perm.size() != shape.rank() || negative) {
    return invalid("perm does not name every axis of " + to_string(shape) + " once");
  }
  return std::vector{TensorType{inputs[0].type.dtype, permuted(shape, perm)}};
}

void reference_transpose(const Node& node, std::span<const Tensor> inputs,
                         std::span<Tensor> outputs) {
  const Shape &from = inputs[0].shape(), &to = outputs[0].shape();
  const std::vector<int64_t> perm = permutation_of(node, from.rank());
  copy_strided(to, size_of(inputs[0].dtype()),
               {inputs[0].bytes().data(), permuted(strides_of(from), perm)},
               {outputs[0].bytes().data(), strides_of(to)});
}

// An element moves with its axes, so a box of the output is a box of the input.
std::optional<Tile> split_transpose(const Node& node, std::span<const Operand> inputs,
                                    const Region& output) {
  const std::vector<int64_t> perm = permutation_of(node, inputs[0].type.shape.rank());
  Region read = output;
  for (size_t d = 0; d < perm.size(); ++d) {
    read.begin[static_cast<size_t>(perm[d])] = output.begin[d];
    read.end[static_cast<size_t>(perm[d])] = output.end[d];
  }
  return Tile{{read}, output, node.attributes, {}};
}

}  // namespace

SHOAL_RECORD(transpose) = {.name = "Transpose",
                           .infer = infer_transpose,
                           .reference = reference_transpose,
                           .split = split_transpose,
                           .linear = true,
                           .linear_time = true,
                           .gradient = transpose_gradient};

}  // namespace shoal::ops
