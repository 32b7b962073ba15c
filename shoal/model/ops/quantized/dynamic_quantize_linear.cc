// DynamicQuantizeLinear: y = saturate(round(x / scale) + zero_point) as u8, where scale = (max(x,
// 0) - min(x, 0)) / 255 and zero_point = round(-min(x, 0) / scale). No split: both depend on all
// elements.
#include <algorithm>

#include "shoal/model/graph/graph.h"
#include "shoal/model/ops/quantized/quantize.h"
#include "shoal/model/ops/record.h"
#include "shoal/model/ops/require.h"

namespace shoal::ops {
namespace {

Result<std::vector<TensorType>> infer_dynamic_quantize_linear(const Node& node,
                                                              std::span<const Operand> inputs) {
  SHOAL_TRY(require<Types<float>>(inputs[0]));
  std::vector<TensorType> types{
      {DType::kU8, inputs[0].type.shape}, {DType::kF32, {}}, {DType::kU8, {}}};
  types.resize(node.outputs.size());
  return types;
}

struct Parameters {
  float scale;
  uint8_t zero_point;
};

// The range always contains 0, so that zeros, such as padding, stay exact. For a range of only 0
// any scale will do. Comparisons with NaN are false, so NaNs do not take part.
Parameters fit(std::span<const float> x) {
  float low = 0, high = 0;
  for (float element : x) {
    low = std::min(low, element);
    high = std::max(high, element);
  }
  const float scale = low == high ? 1 : (high - low) / 255;
  return {scale, quantize<uint8_t>(-low / scale, 0)};
}

void reference_dynamic_quantize_linear(const Node&, std::span<const Tensor> inputs,
                                       std::span<Tensor> outputs) {
  const auto x = inputs[0].data<float>();
  const auto [scale, zero_point] = fit(x);
  std::ranges::transform(x, outputs[0].data<uint8_t>().begin(),
                         [scale = scale, zero_point = zero_point](float element) {
                           return quantize<uint8_t>(element / scale, zero_point);
                         });
  if (outputs.size() > 1) outputs[1].data<float>()[0] = scale;
  if (outputs.size() > 2) outputs[2].data<uint8_t>()[0] = zero_point;
}

}  // namespace

SHOAL_RECORD(dynamic_quantize_linear) = {.name = "DynamicQuantizeLinear",
                                         .max_outputs = 3,
                                         .infer = infer_dynamic_quantize_linear,
                                         .reference = reference_dynamic_quantize_linear};

}  // namespace shoal::ops
