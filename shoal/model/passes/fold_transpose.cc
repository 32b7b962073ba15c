// Removes the Transposes that bring heads before tokens around an Attention: with tokens_first it
// reads and writes heads where one product for all heads leaves and expects them. A new Transpose
// behind it restores the old order. It meets its inverse, and cancel_transposes() removes both.
#include "shoal/model/ops/ops.h"
#include "shoal/model/passes/passes.h"
#include "shoal/model/passes/rewriter.h"

namespace shoal::passes {
namespace {

const std::vector<size_t> kSwap{0, 2, 1, 3};  // tokens and heads, either way

// The input of the Transpose that puts heads first; kNoValue if there is none.
ValueId tokens_first(const Graph& graph, const UseDefs& links, ValueId id) {
  const Node* transpose = links.producer(id, ops::transpose);
  const bool swaps = transpose != nullptr && permutation(graph, *transpose) == kSwap;
  return swaps ? transpose->inputs[0] : kNoValue;
}

}  // namespace

Result<Graph> fold_transpose(const Graph& graph) {
  const UseDefs links(graph);
  return rewrite(graph, [&](Rewriter& rewriter, const Node& node) {
    if (node.op != &ops::attention || node.integer("tokens_first", 0) != 0) return false;
    std::vector<ValueId> inputs = rewriter.map(node.inputs);
    for (size_t i = 0; i < 3; ++i) {
      const ValueId source = tokens_first(graph, links, node.inputs[i]);
      if (source == kNoValue) return false;
      inputs[i] = rewriter.map(source);
    }
    Attributes attributes = node.attributes;
    attributes["tokens_first"] = int64_t{1};
    const std::string name = graph[node.outputs[0]].name + ".tokens";
    const auto y =
        rewriter.to().add(ops::attention, std::move(inputs), std::move(attributes), name);
    return y.ok() && rewriter.substitute(node, ops::transpose, {*y},
                                         {{"perm", std::vector<int64_t>{0, 2, 1, 3}}});
  });
}

}  // namespace shoal::passes
