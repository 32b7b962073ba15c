// Recognises x * Sigmoid(alpha x) as Swish, which can be fused into the product before it.
#include "shoal/model/ops/ops.h"
#include "shoal/model/passes/passes.h"
#include "shoal/model/passes/rewriter.h"

namespace shoal::passes {
namespace {

// The alpha of Sigmoid(alpha x) without other readers; nullopt if it is something else.
std::optional<double> steepness(const Graph& graph, const UseDefs& links, ValueId gate, ValueId x) {
  const Node* sigmoid = links.only_for_reader(gate, ops::sigmoid);
  if (sigmoid == nullptr) return std::nullopt;
  if (sigmoid->inputs[0] == x) return 1;
  const Node* mul = links.only_for_reader(sigmoid->inputs[0], ops::mul);
  const auto parts = mul == nullptr ? std::nullopt : with_scalar(graph, *mul);
  return parts && parts->other == x ? std::optional(parts->scalar) : std::nullopt;
}

}  // namespace

Result<Graph> recognise_swish(const Graph& graph) {
  const UseDefs links(graph);
  return rewrite(graph, [&](Rewriter& rewriter, const Node& node) {
    if (node.op != &ops::mul) return false;
    for (size_t i = 0; i < 2; ++i) {
      const ValueId x = node.inputs[i];
      const auto alpha = steepness(graph, links, node.inputs[1 - i], x);
      if (!alpha) continue;
      return rewriter.substitute(node, ops::swish, {rewriter.map(x)},
                                 {{"alpha", static_cast<float>(*alpha)}});
    }
    return false;
  });
}

}  // namespace shoal::passes
