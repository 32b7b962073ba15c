#include "shoal/shrink/compress/quantization/norms_as_products.h"

#include <algorithm>

#include "shoal/model/ops/norm/channel_scaling.h"
#include "shoal/model/ops/ops.h"
#include "shoal/model/passes/rewriter.h"

namespace shoal::compress {
namespace {

bool replace(const Graph& graph, passes::Rewriter& rewriter, const Node& node) {
  if (node.op != &ops::batch_normalization) return false;
  const TensorType& type = graph[node.inputs[0]].type;
  const auto scaling = ops::channel_scaling_of(node, graph.operands(node.inputs));
  if (!scaling || type.dtype != DType::kF32 || type.shape.rank() != 4) return false;
  const int64_t channels = type.shape[1];
  Tensor weights({DType::kF32, {channels, 1, 1, 1}}), bias({DType::kF32, {channels}});
  const auto as_float = [](double x) { return static_cast<float>(x); };
  std::ranges::transform(scaling->scale, weights.data<float>().begin(), as_float);
  std::ranges::transform(scaling->shift, bias.data<float>().begin(), as_float);
  const ValueId w = rewriter.add_constant(node, "weight", std::move(weights));
  const ValueId b = rewriter.add_constant(node, "bias", std::move(bias));
  return rewriter.substitute(node, ops::conv, {rewriter.map(node.inputs[0]), w, b},
                             {{"group", channels}});
}

}  // namespace

Result<Graph> norms_as_products(const Graph& graph) {
  return passes::rewrite(graph, [&](passes::Rewriter& rewriter, const Node& node) {
    return replace(graph, rewriter, node);
  });
}

}  // namespace shoal::compress
