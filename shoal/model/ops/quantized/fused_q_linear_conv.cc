// FusedQLinearConv, our own operator: a QLinearConv, then a QLinearAdd with a residual if there is
// one, then a clamp to [low, high], the range that an activation leaves. The residual comes with
// its scale and zero point, and with those of the sum, after the nine inputs of QLinearConv.
#include <array>

#include "shoal/model/ops/ops.h"
#include "shoal/model/ops/quantized/quantize.h"
#include "shoal/model/ops/record.h"
#include "shoal/model/ops/require.h"

namespace shoal::ops {
namespace {

constexpr size_t kYScale = 6, kYZeroPoint = 7;
constexpr size_t kConvInputs = 9, kResidual = 9, kAllInputs = 14;

template <class T>
std::span<const T> conv_inputs(std::span<const T> inputs) {
  return inputs.first(std::min(inputs.size(), kConvInputs));
}

// The inputs of QLinearAdd, where y is the result of the convolution.
template <class T>
std::array<T, 8> add_inputs(const T& y, std::span<const T> inputs) {
  return {y,          inputs[kYScale], inputs[kYZeroPoint], inputs[9],
          inputs[10], inputs[11],      inputs[12],          inputs[13]};
}

Result<std::vector<TensorType>> infer_fused_q_linear_conv(const Node& node,
                                                          std::span<const Operand> inputs) {
  SHOAL_ASSIGN(const std::vector<TensorType> types, q_linear_conv.infer(node, conv_inputs(inputs)));
  SHOAL_TRY(require_bounds(node, types[0].dtype));
  if (inputs.size() <= kResidual) return types;
  if (inputs.size() != kAllInputs) return invalid("a residual comes with its parameters");
  SHOAL_TRY(require_given(inputs.subspan(kResidual)));
  if (inputs[kResidual].type.shape != types[0].shape) {
    return invalid("the residual has shape " + to_string(inputs[kResidual].type.shape) +
                   ", should have " + to_string(types[0].shape));
  }
  return q_linear_add.infer(node, add_inputs(Operand{true, types[0], nullptr}, inputs));
}

// The convolution is rounded to 8 bits before the residual is added, as in the two nodes that it
// replaces.
void reference_fused_q_linear_conv(const Node& node, std::span<const Tensor> inputs,
                                   std::span<Tensor> outputs) {
  q_linear_conv.reference(node, conv_inputs(inputs), outputs);
  if (inputs.size() == kAllInputs) {
    q_linear_add.reference(node, add_inputs(outputs[0], inputs), outputs);
  }
  apply(bounds_of(node, outputs[0].dtype()), outputs[0]);
}

std::optional<Tile> split_fused_q_linear_conv(const Node& node, std::span<const Operand> inputs,
                                              const Region& output) {
  std::optional<Tile> tile = q_linear_conv.split(node, conv_inputs(inputs), output);
  for (size_t i = kResidual; tile && i < inputs.size(); ++i) {
    tile->inputs.push_back(i == kResidual ? output : Region::whole(inputs[i].type.shape));
  }
  return tile;
}

int64_t macs_of_fused_q_linear_conv(const Node& node, std::span<const Operand> inputs,
                                    std::span<const TensorType> outputs) {
  return q_linear_conv.macs(node, conv_inputs(inputs), outputs);
}

Result<std::vector<ValueId>> expand_conv(const Node& node, std::span<const ValueId> inputs,
                                         Graph& graph) {
  Attributes attributes = node.attributes, bounds;
  for (const char* own : {"low", "high"}) {
    if (auto bound = attributes.extract(own)) bounds.insert(std::move(bound));
  }
  const auto given = conv_inputs(inputs);
  SHOAL_ASSIGN(ValueId y, graph.add(q_linear_conv, {given.begin(), given.end()}, attributes));
  if (inputs.size() == kAllInputs) {
    const std::array terms = add_inputs(y, inputs);
    const Node sum{&q_linear_add, {terms.begin(), terms.end()}, {}, bounds, {}};
    return q_linear_add.expand(sum, terms, graph);
  }
  SHOAL_ASSIGN(y, append(bounds_of(node, graph[y].type.dtype), y, graph));
  return std::vector{y};
}

}  // namespace

SHOAL_RECORD(fused_q_linear_conv) = {.name = "FusedQLinearConv",
                                     .min_inputs = 8,
                                     .max_inputs = kAllInputs,
                                     .infer = infer_fused_q_linear_conv,
                                     .reference = reference_fused_q_linear_conv,
                                     .split = split_fused_q_linear_conv,
                                     .macs = macs_of_fused_q_linear_conv,
                                     .expand = expand_conv};

}  // namespace shoal::ops
