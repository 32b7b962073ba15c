// Of pools, by operators of their own where there is a window (pool_backward.cc).
#include "shoal/ops/chain.h"
#include "shoal/ops/gradient.h"
#include "shoal/ops/ops.h"

namespace shoal::ops {
namespace {

using Gradients = Result<std::vector<ValueId>>;

}  // namespace

Gradients average_pool_gradient(const Node& node, std::span<const ValueId> outputs, Graph& graph) {
  Chain chain(graph, node.inputs[0]);
  const Shape x = chain.shape_of(node.inputs[0]);
  Attributes attributes = node.attributes;
  attributes["image"] = std::vector<int64_t>(x.begin() + 2, x.end());
  return chain.finish({chain.add(average_pool_backward, {outputs[0]}, std::move(attributes))});
}

Gradients max_pool_gradient(const Node& node, std::span<const ValueId> outputs, Graph& graph) {
  Chain chain(graph, node.inputs[0]);
  return chain.finish(
      {chain.add(max_pool_backward, {node.inputs[0], outputs[0]}, node.attributes)});
}

Gradients global_average_pool_gradient(const Node& node, std::span<const ValueId> outputs,
                                       Graph& graph) {
  Chain chain(graph, node.inputs[0]);
  const Shape x = chain.shape_of(node.inputs[0]);
  const ValueId count = chain.scalar(static_cast<double>(x.count(2, x.rank())));
  return chain.finish({chain.stretch_to(chain.add(div, {outputs[0], count}), x)});
}

Gradients global_max_pool_gradient(const Node& node, std::span<const ValueId> outputs,
                                   Graph& graph) {
  Chain chain(graph, node.inputs[0]);
  const ValueId y = node.outputs[0];
  const ValueId chosen = chain.cast(chain.add(equal, {node.inputs[0], y}));
  const ValueId ties = chain.sum_to(chosen, chain.shape_of(y));
  return chain.finish({chain.add(mul, {chosen, chain.add(div, {outputs[0], ties})})});
}

}  // namespace shoal::ops
