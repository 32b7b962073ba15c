// Cast, to the element type that an attribute names, and CastLike, to that of another input.
// convert.h says how values that the target type cannot hold are converted.
#include "shoal/model/ops/elementwise/cast.h"

#include <algorithm>

#include "shoal/model/graph/graph.h"
#include "shoal/model/ops/broadcast.h"
#include "shoal/model/ops/convert.h"
#include "shoal/model/ops/gradient.h"
#include "shoal/model/ops/onnx_dtype.h"
#include "shoal/model/ops/record.h"
#include "shoal/model/ops/require.h"

namespace shoal::ops {
namespace {

Result<std::vector<TensorType>> infer_cast(const Node& node, std::span<const Operand> inputs) {
  SHOAL_ASSIGN(const int64_t number, require_integer(node, "to"));
  SHOAL_ASSIGN(const DType dtype, require_dtype(number));
  return std::vector{TensorType{dtype, inputs[0].type.shape}};
}

Result<std::vector<TensorType>> infer_like(const Node&, std::span<const Operand> inputs) {
  return std::vector{TensorType{inputs[1].type.dtype, inputs[0].type.shape}};
}

void reference_cast(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  if (outputs[0].dtype() != DType::kBF16 || rounds_to_nearest(node)) {
    return convert(inputs[0], outputs[0]);
  }
  visit<AllTypes>(inputs[0].dtype(), [&]<class T>() {
    std::ranges::transform(inputs[0].data<T>(), outputs[0].data<BFloat16>().begin(), [](T x) {
      return BFloat16::truncated(narrowed(static_cast<Compute<T>>(x)));
    });
  });
}

// CastLike reads only the type of its second input, so a tile takes an empty box of it.
std::optional<Tile> split_like(const Node& node, std::span<const Operand> inputs,
                               const Region& output) {
  const Shape none = Shape::filled(inputs[1].type.shape.rank(), 0);
  return Tile{{output, {none, none}}, output, node.attributes, {}};
}

}  // namespace

SHOAL_RECORD(cast) = {.name = "Cast",
                      .infer = infer_cast,
                      .reference = reference_cast,
                      .split = split_elementwise,
                      .elementwise = {.operands = 1},
                      .linear_time = true,
                      .gradient = cast_gradient};

SHOAL_RECORD(cast_like) = {.name = "CastLike",
                           .min_inputs = 2,
                           .max_inputs = 2,
                           .infer = infer_like,
                           .reference = reference_cast,
                           .split = split_like,
                           .elementwise = {.operands = 1},
                           .linear_time = true,
                           .gradient = cast_gradient};

}  // namespace shoal::ops
