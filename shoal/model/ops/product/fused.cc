// Operators of our own that compute a product and the operators behind it in one step:
//   y = activation(Base(a, b, [bias]) + [residual])
// where Base is Conv, ConvTranspose, Gemm or MatMul. MatMul has no bias in ONNX; here it is a
// vector along the last axis of the product. Passes make these nodes so that kernels write the
// output once. Exporters and gradients use their expansion.
#include <algorithm>
#include <array>

#include "shoal/model/graph/graph.h"
#include "shoal/model/ops/broadcast.h"
#include "shoal/model/ops/elementwise/fused_activation.h"
#include "shoal/model/ops/ops.h"
#include "shoal/model/ops/record.h"
#include "shoal/model/ops/require.h"

namespace shoal::ops {
namespace {

constexpr size_t kBias = 2, kResidual = 3;

// The inputs of Base. The inputs after them are added to its result.
template <const Operator& Base, class T>
std::span<const T> base_inputs(std::span<const T> inputs) {
  return inputs.first(std::min(inputs.size(), Base.max_inputs));
}

// Addends do not broadcast: a kernel adds them where it writes the sum.
Status require_addend(const Operand& addend, size_t index, const TensorType& product) {
  if (!addend.given) return {};
  TensorType wanted = product;
  if (index == kBias) {
    if (product.shape.rank() == 0) return invalid("a product without axes takes no bias");
    wanted.shape = {product.shape[product.shape.rank() - 1]};
  }
  if (addend.type == wanted) return {};
  return invalid(std::string(index == kBias ? "the bias is " : "the residual is ") +
                 to_string(addend.type) + ", should be " + to_string(wanted));
}

template <const Operator& Base>
Result<std::vector<TensorType>> infer_fused(const Node& node, std::span<const Operand> inputs) {
  SHOAL_TRY(require<Floats>(inputs[0]));
  SHOAL_TRY(require_activation(node).status());
  SHOAL_ASSIGN(std::vector<TensorType> types, Base.infer(node, base_inputs<Base>(inputs)));
  for (size_t i = Base.max_inputs; i < inputs.size(); ++i) {
    SHOAL_TRY(require_addend(inputs[i], i, types[0]));
  }
  return types;
}

template <const Operator& Base>
void reference_fused(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  Base.reference(node, base_inputs<Base>(inputs), outputs);
  for (size_t i = Base.max_inputs; i < inputs.size(); ++i) {
    if (!inputs[i].defined()) continue;
    const std::array sum{outputs[0], inputs[i]};
    add.reference(node, sum, outputs);
  }
  apply(activation_of(node), outputs[0]);
}

template <const Operator& Base>
std::optional<Tile> split_fused(const Node& node, std::span<const Operand> inputs,
                                const Region& output) {
  std::optional<Tile> tile = Base.split(node, base_inputs<Base>(inputs), output);
  for (size_t i = Base.max_inputs; tile && i < inputs.size(); ++i) {
    tile->inputs.push_back(inputs[i].given ? broadcast_region(inputs[i].type.shape, tile->output)
                                           : Region{});
  }
  return tile;
}

template <const Operator& Base>
int64_t macs_of_fused(const Node& node, std::span<const Operand> inputs,
                      std::span<const TensorType> outputs) {
  return Base.macs(node, base_inputs<Base>(inputs), outputs);
}

template <const Operator& Base>
Result<std::vector<ValueId>> expand_fused(const Node& node, std::span<const ValueId> inputs,
                                          Graph& graph) {
  Attributes attributes = node.attributes;
  for (const char* own : {"activation", "activation_alpha", "activation_beta"}) {
    attributes.erase(own);
  }
  const auto given = base_inputs<Base>(inputs);
  SHOAL_ASSIGN(ValueId y, graph.add(Base, {given.begin(), given.end()}, std::move(attributes)));
  for (size_t i = Base.max_inputs; i < inputs.size(); ++i) {
    if (inputs[i] == kNoValue) continue;
    SHOAL_ASSIGN(y, graph.add(add, {y, inputs[i]}));
  }
  SHOAL_ASSIGN(y, append(activation_of(node), y, graph));
  return std::vector{y};
}

template <const Operator& Base>
constexpr Operator fused(std::string_view name) {
  return {.name = name,
          .min_inputs = 2,
          .max_inputs = kResidual + 1,
          .infer = infer_fused<Base>,
          .reference = reference_fused<Base>,
          .split = split_fused<Base>,
          .macs = macs_of_fused<Base>,
          .expand = expand_fused<Base>};
}

}  // namespace

SHOAL_RECORD(fused_conv) = fused<conv>("FusedConv");
SHOAL_RECORD(fused_conv_transpose) = fused<conv_transpose>("FusedConvTranspose");
SHOAL_RECORD(fused_gemm) = fused<gemm>("FusedGemm");
SHOAL_RECORD(fused_mat_mul) = fused<mat_mul>("FusedMatMul");

}  // namespace shoal::ops
