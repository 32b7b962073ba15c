// Recognises x * HardSigmoid(x) with alpha = 1/6 and beta = 1/2, and x * Clip(x + 3, 0, 6) / 6, as
// HardSwish.
#include "shoal/model/ops/ops.h"
#include "shoal/model/passes/fusion/product.h"
#include "shoal/model/passes/passes.h"
#include "shoal/model/passes/rewriter.h"

namespace shoal::passes {
namespace {

bool is_near(float a, double b) { return Product{a, {}}.is(b, {}); }

bool is_gate(const Graph& graph, const UseDefs& links, ValueId gate, ValueId x, double scale) {
  if (const Node* node = links.only_for_reader(gate, ops::hard_sigmoid)) {
    return node->inputs[0] == x && is_near(node->real("alpha", 0.2f), 1.0 / 6) &&
           is_near(node->real("beta", 0.5f), 0.5) && Product{scale, {}}.is(1, {});
  }
  const Node* clip = links.only_for_reader(gate, ops::clip);
  if (clip == nullptr || clip->inputs.size() != 3 || scalar(graph, clip->inputs[1]) != 0 ||
      scalar(graph, clip->inputs[2]) != 6) {
    return false;
  }
  const Node* sum = links.only_for_reader(clip->inputs[0], ops::add);
  const auto parts = sum == nullptr ? std::nullopt : with_scalar(graph, *sum);
  return parts && parts->other == x && parts->scalar == 3 && Product{scale, {}}.is(1.0 / 6, {});
}

}  // namespace

Result<Graph> recognise_hard_swish(const Graph& graph) {
  const UseDefs links(graph);
  return rewrite(graph, [&](Rewriter& rewriter, const Node& node) {
    if (node.op != &ops::mul && node.op != &ops::div) return false;
    const Product whole = product(graph, links, node.outputs[0]);
    if (whole.factors.size() != 2) return false;
    for (size_t i = 0; i < 2; ++i) {
      const ValueId x = whole.factors[i];
      if (is_gate(graph, links, whole.factors[1 - i], x, whole.scale)) {
        return rewriter.substitute(node, ops::hard_swish, {rewriter.map(x)}, {});
      }
    }
    return false;
  });
}

}  // namespace shoal::passes
