// Operators of our own that do a product and what follows it in one step:
// y = activation(Base(a, b, [bias]) + [residual]), where Base is Conv or Gemm.
#include <algorithm>
#include <array>

#include "shoal/graph/graph.h"
#include "shoal/ops/fused_activation.h"
#include "shoal/ops/ops.h"
#include "shoal/ops/record.h"
#include "shoal/ops/require.h"

namespace shoal::ops {
namespace {

constexpr size_t kResidual = 3;

// What Base sees: not the residual.
template <class T>
std::span<const T> base_inputs(std::span<const T> inputs) {
  return inputs.first(std::min(inputs.size(), kResidual));
}

template <const Operator& Base>
Result<std::vector<TensorType>> infer(const Node& node, std::span<const Operand> inputs) {
  SHOAL_TRY(require<Floats>(inputs[0]));
  SHOAL_TRY(require_activation(node).status());
  SHOAL_ASSIGN(std::vector<TensorType> types, Base.infer(node, base_inputs(inputs)));
  if (inputs.size() > kResidual && inputs[kResidual].given && inputs[kResidual].type != types[0]) {
    return invalid("the residual is " + to_string(inputs[kResidual].type) + ", should be " +
                   to_string(types[0]));
  }
  return types;
}

template <const Operator& Base>
void reference(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  Base.reference(node, base_inputs(inputs), outputs);
  if (inputs.size() > kResidual && inputs[kResidual].defined()) {
    const std::array sum{outputs[0], inputs[kResidual]};
    add.reference(node, sum, outputs);
  }
  apply(activation_of(node), outputs[0]);
}

template <const Operator& Base>
std::optional<Tile> split(const Node& node, std::span<const Operand> inputs, const Region& output) {
  std::optional<Tile> tile = Base.split(node, base_inputs(inputs), output);
  if (tile && inputs.size() > kResidual) tile->inputs.push_back(tile->output);
  return tile;
}

template <const Operator& Base>
int64_t macs(const Node& node, std::span<const Operand> inputs,
             std::span<const TensorType> outputs) {
  return Base.macs(node, base_inputs(inputs), outputs);
}

template <const Operator& Base>
Result<std::vector<ValueId>> expand_fused(const Node& node, std::span<const ValueId> inputs,
                                          Graph& graph) {
  Attributes attributes = node.attributes;
  for (const char* own : {"activation", "activation_alpha", "activation_beta"}) {
    attributes.erase(own);
  }
  const auto given = base_inputs(inputs);
  SHOAL_ASSIGN(ValueId y, graph.add(Base, {given.begin(), given.end()}, std::move(attributes)));
  if (inputs.size() > kResidual && inputs[kResidual] != kNoValue) {
    SHOAL_ASSIGN(y, graph.add(add, {y, inputs[kResidual]}));
  }
  SHOAL_ASSIGN(y, append(activation_of(node), y, graph));
  return std::vector{y};
}

template <const Operator& Base>
constexpr Operator fused(std::string_view name) {
  return {.name = name,
          .min_inputs = 2,
          .max_inputs = kResidual + 1,
          .infer = infer<Base>,
          .reference = reference<Base>,
          .split = split<Base>,
          .macs = macs<Base>,
          .expand = expand_fused<Base>};
}

}  // namespace

SHOAL_RECORD(fused_conv) = fused<conv>("FusedConv");
SHOAL_RECORD(fused_gemm) = fused<gemm>("FusedGemm");

}  // namespace shoal::ops
