// Fuses a quantised convolution with the sum of its result and a residual into one
// FusedQLinearConv, which does not write the result in between.

#include "shoal/model/ops/ops.h"
#include "shoal/model/passes/passes.h"
#include "shoal/model/passes/rewriter.h"

namespace shoal::passes {
namespace {

// Inputs of a convolution, and of a sum: each term has its scale and zero point behind it.
constexpr size_t kYScale = 6, kYZeroPoint = 7, kConvInputs = 9;
constexpr size_t kTerms[] = {0, 3};
constexpr size_t kSumScale = 6, kSumZeroPoint = 7;

class Matcher {
 public:
  explicit Matcher(const Graph& graph) : graph_(graph), links_(graph) {}

  // The convolution that computes term `i` of a sum for no other reader, with the scale and zero
  // point that the sum expects.
  const Node* conv_of(const Node& add, size_t i) const {
    const ValueId term = add.inputs[i];
    const Node* conv = links_.only_for_reader(term, ops::q_linear_conv);
    const bool fits = conv != nullptr && graph_[term].type == graph_[add.outputs[0]].type &&
                      is_same(conv->inputs[kYScale], add.inputs[i + 1]) &&
                      is_same(conv->inputs[kYZeroPoint], add.inputs[i + 2]);
    return fits ? conv : nullptr;
  }

 private:
  // Whether both are one value, or constants of one element that are equal.
  bool is_same(ValueId a, ValueId b) const {
    const auto x = scalar(graph_, a), y = scalar(graph_, b);
    return a == b || (x && y && *x == *y);
  }

  const Graph& graph_;
  const UseDefs links_;
};

}  // namespace

Result<Graph> fuse_q_linear_add(const Graph& graph) {
  const Matcher matcher(graph);
  return rewrite(graph, [&](Rewriter& rewriter, const Node& node) {
    if (node.op != &ops::q_linear_add) return false;
    // Where both terms are convolutions, the one computed last is fused, as in fuse_activation.cc.
    const Node* conv = nullptr;
    size_t residual = 0;
    for (size_t i : kTerms) {
      const Node* candidate = matcher.conv_of(node, i);
      if (candidate == nullptr || candidate < conv) continue;
      conv = candidate;
      residual = kTerms[0] + kTerms[1] - i;
    }
    if (conv == nullptr) return false;
    std::vector<ValueId> inputs = rewriter.map(conv->inputs);
    inputs.resize(kConvInputs, kNoValue);
    for (size_t i : {residual, residual + 1, residual + 2, kSumScale, kSumZeroPoint}) {
      inputs.push_back(rewriter.map(node.inputs[i]));
    }
    Attributes attributes = conv->attributes;
    for (const char* bound : {"low", "high"}) {
      if (node.has(bound)) attributes[bound] = node.integer(bound, 0);
    }
    return rewriter.substitute(node, ops::fused_q_linear_conv, std::move(inputs),
                               std::move(attributes));
  });
}

}  // namespace shoal::passes
