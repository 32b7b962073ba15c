// QLinearAdd, our own operator: c = a + b of quantised tensors that broadcast, clamped to [low,
// high],
//   c = round((a - a_zero) a_scale / c_scale + (b - b_zero) b_scale / c_scale) + c_zero
// This file is compiled without contraction: kernels and the expansion round each product before
// they add it, and so must the reference.
#include <array>

#include "shoal/model/ops/broadcast.h"
#include "shoal/model/ops/elementwise/elementwise.h"
#include "shoal/model/ops/ops.h"
#include "shoal/model/ops/quantized/quantize.h"
#include "shoal/model/ops/record.h"
#include "shoal/model/ops/require.h"

namespace shoal::ops {
namespace {

// The inputs that are tensors; each has its scale and its zero point behind it.
constexpr size_t kA = 0, kB = 3;
constexpr size_t kScale = 6, kZeroPoint = 7;  // those of the sum

Result<std::vector<TensorType>> infer_q_linear_add(const Node& node,
                                                   std::span<const Operand> inputs) {
  const DType dtype = inputs[kA].type.dtype;
  SHOAL_TRY(require<Bytes>(inputs[kA]));
  SHOAL_TRY(require_same_type(std::array{inputs[kA], inputs[kB]}));
  for (size_t scale : {kA + 1, kB + 1, kScale}) {
    SHOAL_TRY(require_quantization(inputs[scale], inputs[scale + 1], dtype));
  }
  SHOAL_TRY(require_bounds(node, dtype));
  SHOAL_ASSIGN(const Shape shape, broadcast(std::array{inputs[kA], inputs[kB]}));
  return std::vector{TensorType{dtype, shape}};
}

void reference_q_linear_add(const Node& node, std::span<const Tensor> inputs,
                            std::span<Tensor> outputs) {
  const float scale = scale_of(inputs[kScale]);
  const float a_scale = scale_of(inputs[kA + 1]) / scale,
              b_scale = scale_of(inputs[kB + 1]) / scale;
  const int32_t a_zero = zero_point_of(inputs[kA + 2]), b_zero = zero_point_of(inputs[kB + 2]);
  const int32_t zero = zero_point_of(inputs[kZeroPoint]);
  visit<Bytes>(outputs[0].dtype(), [&]<class T>() {
    for_each_pair<T, T, T>(inputs[kA], inputs[kB], outputs[0], [&](T a, T b) {
      const float left = static_cast<float>(a - a_zero) * a_scale;
      const float right = static_cast<float>(b - b_zero) * b_scale;
      return quantize<T>(left + right, zero);
    });
  });
  apply(bounds_of(node, outputs[0].dtype()), outputs[0]);
}

std::optional<Tile> split_q_linear_add(const Node& node, std::span<const Operand> inputs,
                                       const Region& output) {
  Tile tile{{}, output, node.attributes, {}};
  for (const Operand& input : inputs) tile.inputs.push_back(Region::whole(input.type.shape));
  for (size_t i : {kA, kB}) tile.inputs[i] = broadcast_region(inputs[i].type.shape, output);
  return tile;
}

Result<std::vector<ValueId>> expand_add(const Node& node, std::span<const ValueId> inputs,
                                        Graph& graph) {
  std::array<ValueId, 2> terms{};
  for (size_t i = 0; i < terms.size(); ++i) {
    const ValueId x = inputs[3 * i], zero_point = inputs[3 * i + 2];
    SHOAL_ASSIGN(const ValueId scale, graph.add(div, {inputs[3 * i + 1], inputs[kScale]}));
    SHOAL_ASSIGN(terms[i], graph.add(dequantize_linear, {x, scale, zero_point}));
  }
  SHOAL_ASSIGN(ValueId y, graph.add(add, {terms[0], terms[1]}));
  const ValueId one = graph.add_constant("one", Tensor::of<float>({}, {1.0f}));
  SHOAL_ASSIGN(y, graph.add(quantize_linear, {y, one, inputs[kZeroPoint]}));
  SHOAL_ASSIGN(y, append(bounds_of(node, graph[y].type.dtype), y, graph));
  return std::vector{y};
}

}  // namespace

SHOAL_RECORD(q_linear_add) = {.name = "QLinearAdd",
                              .min_inputs = 8,
                              .max_inputs = 8,
                              .infer = infer_q_linear_add,
                              .reference = reference_q_linear_add,
                              .split = split_q_linear_add,
                              .in_place = true,
                              .expand = expand_add};

}  // namespace shoal::ops
