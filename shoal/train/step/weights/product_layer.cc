// Products with a weight and their initial elements. Elements are normal with mean 0 and the
// variance
//
//   2 / fan_in               before a rectifier, which halves the energy (He et al. 2015)
//   2 / (fan_in + fan_out)   otherwise, a compromise of both passes (Glorot and Bengio 2010)
#include "shoal/train/step/weights/product_layer.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "shoal/model/ops/ops.h"

namespace shoal::train {
namespace {

// The first reader stands for all of them. Linear in the nodes, which is nothing beside one step.
const Node* reader_of(const Graph& graph, ValueId id) {
  for (const Node& node : graph.nodes()) {
    if (std::ranges::find(node.inputs, id) != node.inputs.end()) return &node;
  }
  return nullptr;
}

// Whether what a product computes is rectified next, after norms, pools and biases.
bool leads_to_rectifier(const Graph& graph, const Node& node) {
  const std::array rectifiers{&ops::relu, &ops::leaky_relu, &ops::clip, &ops::prelu};
  const std::array passed{&ops::batch_normalization, &ops::max_pool, &ops::average_pool, &ops::add};
  const Node* next = reader_of(graph, node.outputs[0]);
  while (next != nullptr && std::ranges::find(passed, next->op) != passed.end()) {
    next = reader_of(graph, next->outputs[0]);
  }
  return next != nullptr && std::ranges::find(rectifiers, next->op) != rectifiers.end();
}

bool is_weight(const Graph& graph, ValueId id) {
  return id != kNoValue && graph[id].constant && graph[id].type.dtype == DType::kF32 &&
         graph[id].type.shape.rank() >= 2;
}

}  // namespace

std::optional<ProductLayer> as_product(const Graph& graph, const Node& node) {
  if (node.inputs.size() < 2 || !is_weight(graph, node.inputs[1])) return std::nullopt;
  const Shape& shape = graph[node.inputs[1]].type.shape;
  const size_t rank = shape.rank();
  // Weights: Conv [out, in / groups, kernel], ConvTranspose [in, out / groups, kernel], Gemm [in,
  // out] or transposed, MatMul [.., in, out].
  const int64_t kernel = shape.count(2, rank), groups = node.integer("group", 1);
  if (node.op == &ops::conv) {
    return ProductLayer{1, 0, shape[1] * kernel, shape[0] / groups * kernel};
  }
  if (node.op == &ops::conv_transpose) {
    return ProductLayer{1, 1, shape[0] / groups * kernel, shape[1] * kernel};
  }
  if (node.op == &ops::gemm) {
    const size_t output = node.integer("transB", 0) != 0 ? 0 : 1;
    return ProductLayer{1, output, shape[1 - output], shape[output]};
  }
  if (node.op == &ops::mat_mul) {
    return ProductLayer{1, rank - 1, shape[rank - 2], shape[rank - 1]};
  }
  return std::nullopt;
}

Tensor fresh_weight(const Graph& graph, const Node& node, const ProductLayer& layer,
                    const Shape& shape, RandomStream random) {
  const double terms = leads_to_rectifier(graph, node)
                           ? static_cast<double>(layer.fan_in)
                           : static_cast<double>(layer.fan_in + layer.fan_out);
  Tensor weight({DType::kF32, shape});
  fill_normal(weight.data<float>(), random, std::sqrt(2 / std::max(terms, 1.0)));
  return weight;
}

}  // namespace shoal::train
