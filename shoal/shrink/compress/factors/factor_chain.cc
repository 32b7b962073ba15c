#include "shoal/shrink/compress/factors/factor_chain.h"

#include <optional>
#include <utility>

#include "shoal/model/ops/ops.h"
#include "shoal/shrink/compress/analysis/product.h"

namespace shoal::compress {
namespace {

Status refusal(const char* why) { return Status(Code::kUnsupported, why); }

}  // namespace

bool is_product(const Node& node) {
  return node.op == &ops::conv || node.op == &ops::gemm || node.op == &ops::mat_mul;
}

Status accepts(const Factorisation& factorisation, const Graph& graph, const passes::UseDefs& uses,
               const Node& node) {
  if (!is_product(node)) return refusal("it is no product");
  const std::optional<WeightedProduct> product = product_of(graph, node);
  if (!product) return refusal("it is no plain product with constant f32 weights");
  if (product->weights->count() == 0 || graph[node.outputs[0]].type.shape.count() == 0) {
    return refusal("it has no elements");
  }
  if (uses.only_reader(node.inputs[1]) == nullptr) return refusal("its weights are shared");
  return factorisation.accepts(node, *product);
}

size_t feature_axis(const Graph& graph, const Node& node) {
  return node.op == &ops::conv ? 1 : graph[node.inputs[0]].type.shape.rank() - 1;
}

Factor factor_of(const Graph& graph, const Node& node) {
  return {node.op, *graph[node.inputs[1]].constant, node.attributes};
}

Result<Graph> layer_graph(const Graph& graph, const Node& node, std::span<const Factor> factors) {
  Graph layer;
  ValueId value = layer.add_input("x", graph[node.inputs[0]].type);
  for (const Factor& factor : factors) {
    const ValueId weights = layer.add_constant("w", factor.weights);
    SHOAL_ASSIGN(value, layer.add(*factor.op, {value, weights}, factor.attributes));
  }
  layer.mark_output(value);
  return layer;
}

Status replace(passes::Rewriter& rewriter, const Node& node, const std::vector<Factor>& factors) {
  ValueId value = rewriter.map(node.inputs[0]);
  for (size_t i = 0; i + 1 < factors.size(); ++i) {
    const ValueId weights = rewriter.add_constant(node, "factor", factors[i].weights);
    SHOAL_ASSIGN(value, rewriter.to().add(*factors[i].op, {value, weights}, factors[i].attributes));
  }
  const Factor& last = factors.back();
  std::vector<ValueId> inputs{value, rewriter.add_constant(node, "factor", last.weights)};
  if (node.inputs.size() > 2) inputs.push_back(rewriter.map(node.inputs[2]));
  if (rewriter.substitute(node, *last.op, std::move(inputs), last.attributes)) return {};
  return Status(Code::kInternal, "a factor was refused").at(place_of(rewriter.from(), node));
}

}  // namespace shoal::compress
