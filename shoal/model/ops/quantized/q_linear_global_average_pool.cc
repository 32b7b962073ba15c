// QLinearGlobalAveragePool, our own operator: the average of every channel of a quantised image,
//   y = round(sum(x - x_zero) * x_scale / (y_scale * n)) + y_zero
// The sum is one of integers, of 64 bits, and is rounded once. Batch and channels are cut; planes
// stay whole.
#include "shoal/model/ops/onnx_dtype.h"
#include "shoal/model/ops/ops.h"
#include "shoal/model/ops/quantized/quantize.h"
#include "shoal/model/ops/record.h"
#include "shoal/model/ops/require.h"
#include "shoal/model/ops/window.h"

namespace shoal::ops {
namespace {

constexpr size_t kX = 0, kXScale = 1, kXZeroPoint = 2, kYScale = 3, kYZeroPoint = 4;

float plane_of(const Shape& x) { return static_cast<float>(x.count(2, x.rank())); }

Result<std::vector<TensorType>> infer_q_linear_global_average_pool(
    const Node&, std::span<const Operand> inputs) {
  SHOAL_TRY(require<Bytes>(inputs[kX]));
  TensorType type = inputs[kX].type;
  SHOAL_TRY(require_spatial(type.shape));
  SHOAL_TRY(require_quantization(inputs[kXScale], inputs[kXZeroPoint], type.dtype));
  SHOAL_TRY(require_quantization(inputs[kYScale], inputs[kYZeroPoint], type.dtype));
  if (type.shape.count(2, type.shape.rank()) == 0) return invalid("takes the average of nothing");
  std::fill(type.shape.begin() + 2, type.shape.end(), 1);
  return std::vector{type};
}

void reference_q_linear_global_average_pool(const Node&, std::span<const Tensor> inputs,
                                            std::span<Tensor> outputs) {
  const Shape& shape = inputs[kX].shape();
  const auto plane = static_cast<size_t>(shape.count(2, shape.rank()));
  const float scale = scale_of(inputs[kXScale]) / (scale_of(inputs[kYScale]) * plane_of(shape));
  const int32_t x_zero = zero_point_of(inputs[kXZeroPoint]);
  const int32_t y_zero = zero_point_of(inputs[kYZeroPoint]);
  visit<Bytes>(inputs[kX].dtype(), [&]<class T>() {
    std::span<const T> x = inputs[kX].data<T>();
    for (T& y : outputs[0].data<T>()) {
      int64_t sum = 0;
      for (T element : x.first(plane)) sum += element - x_zero;
      y = quantize<T>(static_cast<float>(sum) * scale, y_zero);
      x = x.subspan(plane);
    }
  });
}

std::optional<Tile> split_q_linear_global_average_pool(const Node& node,
                                                       std::span<const Operand> inputs,
                                                       const Region& output) {
  Tile tile{{}, output, node.attributes, {}};
  for (const Operand& input : inputs) tile.inputs.push_back(Region::whole(input.type.shape));
  for (size_t d = 0; d < 2; ++d) {
    tile.inputs[kX].begin[d] = output.begin[d];
    tile.inputs[kX].end[d] = output.end[d];
  }
  return tile;
}

Result<std::vector<ValueId>> expand_pool(const Node&, std::span<const ValueId> inputs,
                                         Graph& graph) {
  const Shape shape = graph[inputs[kX]].type.shape;
  const Attributes to_i64 = {{"to", onnx_number_of(DType::kI64)}};
  SHOAL_ASSIGN(ValueId x, graph.add(cast, {inputs[kX]}, to_i64));
  SHOAL_ASSIGN(ValueId zero, graph.add(cast, {inputs[kXZeroPoint]}, to_i64));
  SHOAL_ASSIGN(zero, graph.add(reshape, {zero, graph.add_constant("one", list_of({}))}));
  SHOAL_ASSIGN(x, graph.add(sub, {x, zero}));
  std::vector<int64_t> axes;
  for (size_t d = 2; d < shape.rank(); ++d) axes.push_back(static_cast<int64_t>(d));
  SHOAL_ASSIGN(x, graph.add(reduce_sum, {x, graph.add_constant("axes", list_of(axes))}));
  const ValueId plane = graph.add_constant("plane", Tensor::of<float>({}, {plane_of(shape)}));
  SHOAL_ASSIGN(ValueId scale, graph.add(mul, {inputs[kYScale], plane}));
  SHOAL_ASSIGN(scale, graph.add(div, {inputs[kXScale], scale}));
  SHOAL_ASSIGN(x, append_requantize(x, scale, inputs[kYZeroPoint], graph));
  return std::vector{x};
}

}  // namespace

SHOAL_RECORD(q_linear_global_average_pool) = {.name = "QLinearGlobalAveragePool",
                                              .min_inputs = 5,
                                              .max_inputs = 5,
                                              .infer = infer_q_linear_global_average_pool,
                                              .reference = reference_q_linear_global_average_pool,
                                              .split = split_q_linear_global_average_pool,
                                              .expand = expand_pool};

}  // namespace shoal::ops
