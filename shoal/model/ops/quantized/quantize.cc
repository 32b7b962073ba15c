#include "shoal/model/ops/quantized/quantize.h"

#include <algorithm>

#include "shoal/model/ops/onnx_dtype.h"
#include "shoal/model/ops/ops.h"
#include "shoal/model/ops/require.h"

namespace shoal::ops {

Status require_quantization(const Operand& scale, const Operand& zero_point, DType dtype) {
  SHOAL_TRY(require<Types<float>>(scale));
  SHOAL_TRY(require_single(scale));
  SHOAL_TRY(require_single(zero_point));
  if (zero_point.type.dtype == dtype) return {};
  return invalid("a zero point is of type " + std::string(name_of(zero_point.type.dtype)) +
                 ", should be " + std::string(name_of(dtype)));
}

float scale_of(const Tensor& scale) { return scale.data<float>()[0]; }

int32_t zero_point_of(const Tensor& zero_point) {
  return converted(zero_point, DType::kI32).data<int32_t>()[0];
}

Bounds bounds_of_type(DType dtype) {
  return dtype == DType::kU8 ? Bounds{0, 255} : Bounds{-128, 127};
}

Status require_bounds(const Node& node, DType dtype) {
  const Bounds bounds = bounds_of(node, dtype), all = bounds_of_type(dtype);
  if (all.low <= bounds.low && bounds.low <= bounds.high && bounds.high <= all.high) return {};
  return invalid("low and high are no range of " + std::string(name_of(dtype)));
}

Bounds bounds_of(const Node& node, DType dtype) {
  const Bounds all = bounds_of_type(dtype);
  return {node.integer("low", all.low), node.integer("high", all.high)};
}

void apply(const Bounds& bounds, Tensor& bytes) {
  visit<Bytes>(bytes.dtype(), [&]<class T>() {
    for (T& x : bytes.data<T>()) {
      x = std::clamp(x, static_cast<T>(bounds.low), static_cast<T>(bounds.high));
    }
  });
}

Result<ValueId> append(const Bounds& bounds, ValueId y, Graph& graph) {
  const DType dtype = graph[y].type.dtype;
  if (bounds == bounds_of_type(dtype)) return y;
  std::vector<ValueId> inputs{y};
  for (int64_t bound : {bounds.low, bounds.high}) {
    inputs.push_back(
        graph.add_constant("bound", converted(Tensor::of<int64_t>({}, {bound}), dtype)));
  }
  return graph.add(clip, std::move(inputs));
}

// The expansion repeats the reference step by step: 32-bit sum, one float product, one rounding.
Result<ValueId> append_scaled(ValueId sums, ValueId scale, Graph& graph) {
  SHOAL_ASSIGN(const ValueId y, graph.add(cast, {sums}, {{"to", onnx_number_of(DType::kF32)}}));
  return graph.add(mul, {y, scale});
}

Result<ValueId> append_requantize(ValueId sums, ValueId scale, ValueId zero_point, Graph& graph) {
  SHOAL_ASSIGN(const ValueId y, append_scaled(sums, scale, graph));
  // QuantizeLinear divides by its scale. `scale` has that factor already, so it divides by 1, which
  // is exact.
  const ValueId one = graph.add_constant("one", Tensor::of<float>({}, {1.0f}));
  return graph.add(quantize_linear, {y, one, zero_point});
}

}  // namespace shoal::ops
