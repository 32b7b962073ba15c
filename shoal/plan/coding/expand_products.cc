#include "shoal/plan/coding/expand_products.h"

#include <set>

#include "shoal/model/ops/contraction.h"
#include "shoal/model/passes/rewriter.h"

namespace shoal::plan {
namespace {

Status expand(const Node& node, passes::Rewriter& rewriter) {
  SHOAL_ASSIGN(const std::vector<ValueId> outputs,
               node.op->expand(node, rewriter.map(node.inputs), rewriter.to()));
  for (size_t i = 0; i < outputs.size(); ++i) rewriter.replace(node.outputs[i], outputs[i]);
  return {};
}

// The first product at or after node `first` of the new graph, which stands for `node`.
Result<size_t> find_product(const Node& node, size_t first, passes::Rewriter& rewriter) {
  const Graph& to = rewriter.to();
  for (size_t i = first; i < to.nodes().size(); ++i) {
    if (ops::contraction_of(to.nodes()[i], to.operands(to.nodes()[i].inputs))) return i;
  }
  return Status(Code::kUnsupported, place_of(rewriter.from(), node) + " is no sum of products");
}

}  // namespace

Result<ExpandedProducts> expand_products(const Graph& graph, const std::vector<size_t>& nodes) {
  const std::set<size_t> wanted(nodes.begin(), nodes.end());
  passes::Rewriter rewriter(graph);
  ExpandedProducts expanded;
  for (size_t i = 0; i < graph.nodes().size(); ++i) {
    const Node& node = graph.nodes()[i];
    const size_t first = rewriter.to().nodes().size();
    const bool is_wanted = wanted.contains(i);
    SHOAL_TRY(is_wanted && node.op->expand != nullptr ? expand(node, rewriter)
                                                      : rewriter.copy(node));
    if (!is_wanted) continue;
    SHOAL_ASSIGN(expanded.products[i], find_product(node, first, rewriter));
  }
  SHOAL_ASSIGN(expanded.graph, rewriter.finish());
  return expanded;
}

Result<Graph> graph_of(const Graph& graph, const Node& node) {
  Graph alone;
  std::vector<ValueId> inputs;
  for (ValueId id : node.inputs) {
    const Value* value = id == kNoValue ? nullptr : &graph[id];
    inputs.push_back(value == nullptr  ? kNoValue
                     : value->constant ? alone.add_constant(value->name, *value->constant)
                                       : alone.add_input(value->name, value->type));
  }
  const std::vector<std::string> names(node.outputs.size());
  SHOAL_ASSIGN(const auto outputs,
               alone.add_node(*node.op, std::move(inputs), node.attributes, names));
  for (ValueId id : outputs) alone.mark_output(id);
  return alone;
}

}  // namespace shoal::plan
