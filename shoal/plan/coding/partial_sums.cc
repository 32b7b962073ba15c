// Products as sums of terms. y = x W = sum_t x[:, K_t] W[K_t, :] for a partition K_t of the
// contracted axis. The rewrite has two passes: expand_products() turns fused operators into ONNX's
// own, whose products are linear, and Summer replaces each product by slices, terms and a sum. No
// operator is named here: the contracted axis is found by asking `split` and `infer`.
#include <map>

#include "shoal/model/ops/contraction.h"
#include "shoal/model/ops/ops.h"
#include "shoal/model/passes/rewriter.h"
#include "shoal/plan/coding/products.h"
#include "shoal/plan/layout.h"

namespace shoal::plan {
namespace {

using SharesByNode = std::map<size_t, std::vector<double>>;

// Every product as a sum of its terms.
class Summer {
 public:
  explicit Summer(const Graph& graph) : rewriter_(graph) {}

  Result<Graph> run(const SharesByNode& products) {
    const auto nodes = rewriter_.from().nodes();
    for (size_t i = 0; i < nodes.size(); ++i) {
      const auto shares = products.find(i);
      SHOAL_TRY(shares == products.end() ? rewriter_.copy(nodes[i])
                                         : add_sum(nodes[i], shares->second));
    }
    return rewriter_.finish();
  }

 private:
  Status add_sum(const Node& node, const std::vector<double>& shares) {
    const Graph& from = rewriter_.from();
    const ops::Contraction along = *ops::contraction_of(node, from.operands(node.inputs));
    const auto points = cut_points(from, node.inputs[0], along.axis, shares);
    // All slices of weights first, so that a plan cannot end a segment between two terms
    // (search/choices.cc).
    SHOAL_ASSIGN(const auto weights, slices(node.inputs[1], along.weight_axis, points));
    SHOAL_ASSIGN(const auto inputs, slices(node.inputs[0], along.axis, points));
    std::vector<ValueId> terms;
    for (size_t t = 0; t < inputs.size(); ++t) {
      std::vector<ValueId> operands = {inputs[t], weights[t]};
      for (size_t i = 2; t == 0 && i < node.inputs.size(); ++i) {
        operands.push_back(rewriter_.map(node.inputs[i]));
      }
      SHOAL_ASSIGN(const ValueId term,
                   rewriter_.to().add(*node.op, std::move(operands), node.attributes,
                                      from[node.outputs[0]].name + ".term"));
      terms.push_back(term);
    }
    SHOAL_ASSIGN(const ValueId sum, rewriter_.to().add(ops::sum, std::move(terms)));
    rewriter_.replace(node.outputs[0], sum);
    return {};
  }

  // The slices that are not empty: shares may be too small for an element.
  Result<std::vector<ValueId>> slices(ValueId value, size_t axis,
                                      const std::vector<int64_t>& points) {
    std::vector<ValueId> parts;
    for (size_t i = 0; i + 1 < points.size(); ++i) {
      if (points[i] == points[i + 1]) continue;
      SHOAL_ASSIGN(const ValueId part, append_slice(rewriter_.to(), rewriter_.map(value), axis,
                                                    points[i], points[i + 1]));
      parts.push_back(part);
    }
    return parts;
  }

  passes::Rewriter rewriter_;
};

}  // namespace

Result<ValueId> append_slice(Graph& graph, ValueId value, size_t axis, int64_t begin, int64_t end) {
  const auto list = [&](const char* role, int64_t number) {
    return graph.add_constant(graph[value].name + role, Tensor::of<int64_t>({1}, {number}));
  };
  std::vector<ValueId> inputs = {value, list(".begin", begin), list(".end", end),
                                 list(".axis", static_cast<int64_t>(axis))};
  return graph.add(ops::slice, std::move(inputs));
}

bool can_be_sum(const Graph& graph, const Node& node) {
  // Tried on a graph of this node alone: the rewrite itself is the only authority.
  const auto alone = graph_of(graph, node);
  return alone.ok() && with_partial_sums(*alone, {{0, {1, 1}}}).ok();
}

Result<Graph> with_partial_sums(const Graph& graph, const std::vector<SumOfTerms>& sums) {
  std::vector<size_t> nodes;
  for (const SumOfTerms& sum : sums) nodes.push_back(sum.node);
  SHOAL_ASSIGN(const ExpandedProducts expanded, expand_products(graph, nodes));
  SharesByNode products;
  for (const SumOfTerms& sum : sums) products.emplace(expanded.products.at(sum.node), sum.shares);
  return Summer(expanded.graph).run(products);
}

}  // namespace shoal::plan
