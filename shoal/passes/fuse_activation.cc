// Conv or Gemm, a sum with a residual and an activation become one FusedConv or FusedGemm, which
// writes its output once instead of three times.
#include "shoal/ops/fused_activation.h"
#include "shoal/ops/ops.h"
#include "shoal/passes/match.h"
#include "shoal/passes/passes.h"
#include "shoal/passes/rewriter.h"

namespace shoal::passes {
namespace {

struct Sum {
  const Node* head = nullptr;
  ValueId residual = kNoValue;
};

class Matcher {
 public:
  Matcher(const Graph& graph, const Links& links) : graph_(graph), links_(links) {}

  // A product that nobody else reads, and what is added to it.
  std::optional<Sum> sum_of(ValueId value) const {
    if (const Node* head = head_of(value)) return Sum{head, kNoValue};
    const Node* node = links_.only_for_reader(value, ops::add);
    return node == nullptr ? std::nullopt : sum_of(*node);
  }

  // Of two products, the one computed last is fused: its result would not be waiting in memory.
  std::optional<Sum> sum_of(const Node& add) const {
    Sum sum;
    for (size_t i = 0; i < 2; ++i) {
      const Node* head = head_of(add.inputs[i]);
      const ValueId other = add.inputs[1 - i];
      if (head == nullptr || head < sum.head) continue;
      if (graph_[other].type == graph_[add.outputs[0]].type) sum = {head, other};
    }
    return sum.head == nullptr ? std::nullopt : std::optional(sum);
  }

 private:
  const Node* head_of(ValueId value) const {
    for (const Operator* op : {&ops::conv, &ops::gemm, &ops::mat_mul}) {
      const Node* node = links_.only_for_reader(value, *op);
      if (node != nullptr && (op != &ops::mat_mul || is_gemm(*node))) return node;
    }
    return nullptr;
  }

  bool is_gemm(const Node& mat_mul) const {
    return graph_[mat_mul.inputs[0]].type.shape.rank() == 2 &&
           graph_[mat_mul.inputs[1]].type.shape.rank() == 2;
  }

  const Graph& graph_;
  const Links& links_;
};

}  // namespace

Result<Graph> fuse_activation(const Graph& graph) {
  const Links links(graph);
  const Matcher matcher(graph, links);
  return rewrite(graph, [&](Rewriter& rewriter, const Node& node) {
    const auto activation = ops::as_activation(node, graph.operands(node.inputs));
    const std::optional<Sum> sum = activation             ? matcher.sum_of(node.inputs[0])
                                   : node.op == &ops::add ? matcher.sum_of(node)
                                                          : std::nullopt;
    if (!sum) return false;
    std::vector<ValueId> inputs = rewriter.map(sum->head->inputs);
    if (sum->residual != kNoValue) {
      inputs.resize(3, kNoValue);
      inputs.push_back(rewriter.map(sum->residual));
    }
    Attributes attributes = sum->head->attributes;
    if (activation) ops::set_activation(attributes, *activation);
    const Operator& op = sum->head->op == &ops::conv ? ops::fused_conv : ops::fused_gemm;
    return rewriter.substitute(node, op, std::move(inputs), std::move(attributes));
  });
}

}  // namespace shoal::passes
