#include "shoal/shrink/compress/analysis/product.h"

#include <algorithm>

#include "shoal/model/graph/parameter.h"
#include "shoal/model/ops/ops.h"
#include "shoal/model/passes/rewriter.h"

namespace shoal::compress {
namespace {

const Tensor* floats_of(const Graph& graph, ValueId id) {
  const Tensor* tensor = passes::constant(graph, id);
  return tensor != nullptr && tensor->dtype() == DType::kF32 ? tensor : nullptr;
}

// The factors alpha and beta, and a transposed A, have no counterpart in integer products.
bool is_plain_gemm(const Node& node) {
  return node.integer("transA", 0) == 0 && node.real("alpha", 1) == 1 && node.real("beta", 1) == 1;
}

// The axis of the weights that has one index per output channel; nullopt if there is none.
std::optional<size_t> channel_axis_of(const Node& node, const Tensor& weights) {
  if (node.op == &ops::conv) return 0;
  if (node.op == &ops::gemm && is_plain_gemm(node)) return node.integer("transB", 0) != 0 ? 0 : 1;
  if (node.op == &ops::mat_mul && weights.shape().rank() == 2) return 1;
  return std::nullopt;
}

}  // namespace

std::optional<WeightedProduct> product_of(const Graph& graph, const Node& node) {
  // A product of constants is folded by a pass, not quantised.
  if (node.inputs.size() < 2 || graph[node.inputs[0]].constant) return std::nullopt;
  WeightedProduct product;
  product.weights = floats_of(graph, node.inputs[1]);
  if (product.weights == nullptr) return std::nullopt;
  const std::optional<size_t> axis = channel_axis_of(node, *product.weights);
  if (!axis) return std::nullopt;
  product.channel_axis = *axis;
  if (node.inputs.size() > 2 && node.inputs[2] != kNoValue) {
    product.bias = floats_of(graph, node.inputs[2]);
    // A bias of another shape is broadcast, and has no scale per channel.
    const Shape per_channel{product.weights->shape()[*axis]};
    if (product.bias == nullptr || product.bias->shape() != per_channel) return std::nullopt;
  }
  return product;
}

std::vector<bool> learned_values(const Graph& graph) {
  std::vector<bool> learned(graph.value_count());
  for (const Node& node : graph.nodes()) {
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (is_parameter(graph, node, i)) learned[static_cast<size_t>(node.inputs[i])] = true;
    }
  }
  return learned;
}

const Node* quantised_node(const Graph& graph) {
  const auto is_byte = [&](ValueId id) {
    const DType dtype = graph[id].type.dtype;
    return dtype == DType::kI8 || dtype == DType::kU8;
  };
  const auto is_byte_constant = [&](ValueId id) {
    return id != kNoValue && graph[id].constant && is_byte(id);
  };
  const auto is_real = [&](ValueId id) {
    return id != kNoValue && Floats::contains(graph[id].type.dtype);
  };
  for (const Node& node : graph.nodes()) {
    if (std::ranges::any_of(node.inputs, is_byte_constant) ||
        (std::ranges::any_of(node.inputs, is_real) && is_byte(node.outputs[0]))) {
      return &node;
    }
  }
  return nullptr;
}

}  // namespace shoal::compress
