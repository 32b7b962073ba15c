// Compress: keeps the slices along `axis`, or without it the elements, whose condition is true. The
// condition may be shorter than the axis; slices beyond its end are dropped. It decides the shape
// of the output, so it must be a constant. The gradient scatters back, by permutation_gradient().
#include "shoal/model/graph/graph.h"
#include "shoal/model/ops/gradient.h"
#include "shoal/model/ops/index/index.h"
#include "shoal/model/ops/record.h"
#include "shoal/model/ops/require.h"

namespace shoal::ops {
namespace {

std::vector<int64_t> chosen_by(const Tensor& condition) {
  std::vector<int64_t> chosen;
  int64_t k = 0;
  for (bool take : condition.data<bool>()) {
    if (take) chosen.push_back(k);
    ++k;
  }
  return chosen;
}

Result<std::vector<TensorType>> infer_compress(const Node& node, std::span<const Operand> inputs) {
  SHOAL_TRY(require<Types<bool>>(inputs[1]));
  SHOAL_TRY(require_rank(inputs[1], 1));
  const auto& [dtype, shape] = inputs[0].type;
  SHOAL_ASSIGN(Slices slices, slices_of(node, shape));
  const std::vector<int64_t> chosen = chosen_by(*inputs[1].value);
  if (!chosen.empty() && chosen.back() >= slices.n) {
    return invalid("the condition chooses element " + std::to_string(chosen.back()) + " of " +
                   std::to_string(slices.n));
  }
  return std::vector{TensorType{dtype, shape_of_slices(node, shape, std::ssize(chosen))}};
}

void reference_compress(const Node& node, std::span<const Tensor> inputs,
                        std::span<Tensor> outputs) {
  const Slices slices = *slices_of(node, inputs[0].shape());
  copy_slices(slices, chosen_by(inputs[1]), inputs[0], outputs[0]);
}

// A kept slice may come from anywhere along the axis, so that axis stays whole. Without `axis` the
// elements of the output have no place in the input's shape, and it cannot be split.
std::optional<Tile> split_compress(const Node& node, std::span<const Operand> inputs,
                                   const Region& output) {
  if (!node.has("axis")) return std::nullopt;
  const Shape& shape = inputs[0].type.shape;
  const size_t axis = axis_in(node.integer("axis", 0), shape.rank());
  Region read = output, written = output;
  read.begin[axis] = written.begin[axis] = 0;
  read.end[axis] = shape[axis];
  written.end[axis] = std::ssize(chosen_by(*inputs[1].value));
  return Tile{{read, Region::whole(inputs[1].type.shape)}, written, node.attributes, {}};
}

}  // namespace

SHOAL_RECORD(compress) = {.name = "Compress",
                          .min_inputs = 2,
                          .max_inputs = 2,
                          .value_inputs = 1 << 1,
                          .infer = infer_compress,
                          .reference = reference_compress,
                          .split = split_compress,
                          .linear = true,
                          .linear_time = true,
                          .gradient = permutation_gradient};

}  // namespace shoal::ops
