// Fuses Conv, ConvTranspose, Gemm or MatMul with a bias, a residual and an activation behind it:
//   activation(product(a, b, bias) + residual)
// becomes one FusedConv, FusedConvTranspose, FusedGemm or FusedMatMul, which writes its output once
// instead of three times.
#include "shoal/model/ops/elementwise/fused_activation.h"
#include "shoal/model/ops/ops.h"
#include "shoal/model/passes/passes.h"
#include "shoal/model/passes/rewriter.h"

namespace shoal::passes {
namespace {

struct Base {
  const Node* node = nullptr;
  ValueId bias = kNoValue;  // in addition to the inputs of a MatMul
};

struct Sum {
  Base base;
  ValueId residual = kNoValue;
};

class Matcher {
 public:
  Matcher(const Graph& graph, const UseDefs& links) : graph_(graph), links_(links) {}

  // A product that has no other reader, and the terms that are added to it.
  std::optional<Sum> sum_of(ValueId value) const {
    if (const Node* node = product_of(value)) return Sum{{node, kNoValue}, kNoValue};
    const Node* node = links_.only_for_reader(value, ops::add);
    return node == nullptr ? std::nullopt : sum_of(*node);
  }

  std::optional<Sum> sum_of(const Node& add) const {
    if (auto base = biased(add)) return Sum{*base, kNoValue};
    // Where both terms are products, the one computed last is fused: its inputs are still in memory
    // then, and those of the other would have to be kept until the sum.
    Sum sum;
    for (size_t i = 0; i < 2; ++i) {
      const std::optional<Base> base = biased_or_plain(add.inputs[i]);
      const ValueId other = add.inputs[1 - i];
      // Nodes lie in one array in topological order, so the later one has the larger address.
      if (!base || base->node < sum.base.node) continue;
      if (graph_[other].type == graph_[add.outputs[0]].type) sum = {*base, other};
    }
    return sum.base.node == nullptr ? std::nullopt : std::optional(sum);
  }

  // The fused operator for a product. A MatMul of matrices is a Gemm.
  const Operator& fused(const Node& product) const {
    if (product.op == &ops::conv) return ops::fused_conv;
    if (product.op == &ops::conv_transpose) return ops::fused_conv_transpose;
    const bool of_matrices = graph_[product.inputs[0]].type.shape.rank() == 2;
    return product.op == &ops::mat_mul && !of_matrices ? ops::fused_mat_mul : ops::fused_gemm;
  }

 private:
  const Node* product_of(ValueId value) const {
    for (const Operator* op : {&ops::conv, &ops::conv_transpose, &ops::gemm, &ops::mat_mul}) {
      const Node* node = links_.only_for_reader(value, *op);
      if (node != nullptr && (op != &ops::mat_mul || is_of_weights(*node))) return node;
    }
    return nullptr;
  }

  // A product of rows, in any number of axes, and one matrix.
  bool is_of_weights(const Node& mat_mul) const {
    return graph_[mat_mul.inputs[0]].type.shape.rank() >= 2 &&
           graph_[mat_mul.inputs[1]].type.shape.rank() == 2;
  }

  std::optional<Base> biased_or_plain(ValueId value) const {
    if (const Node* node = product_of(value)) return Base{node, kNoValue};
    const Node* node = links_.only_for_reader(value, ops::add);
    return node == nullptr ? std::nullopt : biased(*node);
  }

  // The sum of a MatMul and a row. A constant bias of Conv or Gemm has been folded into them
  // already.
  std::optional<Base> biased(const Node& add) const {
    for (size_t i = 0; i < 2; ++i) {
      const Node* node = product_of(add.inputs[i]);
      if (node == nullptr || node->op != &ops::mat_mul) continue;
      const ValueId bias = add.inputs[1 - i];
      const Shape& weights = graph_[node->inputs[1]].type.shape;
      if (graph_[bias].type.shape == Shape{weights[1]}) return Base{node, bias};
    }
    return std::nullopt;
  }

  const Graph& graph_;
  const UseDefs& links_;
};

}  // namespace

Result<Graph> fuse_activation(const Graph& graph) {
  const UseDefs links(graph);
  const Matcher matcher(graph, links);
  return rewrite(graph, [&](Rewriter& rewriter, const Node& node) {
    const auto activation = ops::as_activation(node, graph.operands(node.inputs));
    const std::optional<Sum> sum = activation             ? matcher.sum_of(node.inputs[0])
                                   : node.op == &ops::add ? matcher.sum_of(node)
                                                          : std::nullopt;
    if (!sum) return false;
    const Node& product = *sum->base.node;
    std::vector<ValueId> inputs = rewriter.map(product.inputs);
    inputs.resize(4, kNoValue);
    if (sum->base.bias != kNoValue) inputs[2] = rewriter.map(sum->base.bias);
    inputs[3] = rewriter.map(sum->residual);
    while (inputs.back() == kNoValue) inputs.pop_back();
    Attributes attributes = product.attributes;
    if (activation) ops::set_activation(attributes, *activation);
    return rewriter.substitute(node, matcher.fused(product), std::move(inputs),
                               std::move(attributes));
  });
}

}  // namespace shoal::passes
