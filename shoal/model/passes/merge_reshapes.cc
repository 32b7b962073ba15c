// Merges a chain of Reshape, Flatten, Squeeze, Unsqueeze and Transposes that only move axes of size
// 1 into one Reshape, or into nothing if the shape at its end is that at its start.
#include <algorithm>

#include "shoal/model/ops/ops.h"
#include "shoal/model/passes/passes.h"
#include "shoal/model/passes/rewriter.h"

namespace shoal::passes {

Result<Graph> merge_reshapes(const Graph& graph) {
  // Per value: the one at the start of its chain of views.
  std::vector<ValueId> origin(graph.value_count());
  for (size_t i = 0; i < origin.size(); ++i) origin[i] = static_cast<ValueId>(i);

  return rewrite(graph, [&](Rewriter& rewriter, const Node& node) {
    if (!is_view(graph, node)) return false;
    const ValueId from = origin[static_cast<size_t>(node.inputs[0])];
    origin[static_cast<size_t>(node.outputs[0])] = from;
    const bool is_chain = from != node.inputs[0];
    // A single view stays as it is, except a Transpose, which would be computed.
    if (!is_chain && node.op != &ops::transpose) return false;

    const Shape& shape = graph[node.outputs[0]].type.shape;
    if (graph[from].type.shape == shape) {
      rewriter.replace(node.outputs[0], rewriter.map(from));
      return true;
    }
    const ValueId target = rewriter.add_constant(
        node, "shape", Tensor::of<int64_t>({static_cast<int64_t>(shape.rank())}, std::span(shape)));
    Attributes attributes;
    // A 0 in the list would otherwise mean "copy this dimension".
    if (std::ranges::count(shape, 0) > 0) attributes["allowzero"] = int64_t{1};
    return rewriter.substitute(node, ops::reshape, {rewriter.map(from), target}, attributes);
  });
}

}  // namespace shoal::passes
