#include <algorithm>
#include <map>

#include "shoal/model/ops/chain.h"
#include "shoal/model/ops/gradient.h"
#include "shoal/model/ops/ops.h"

namespace shoal::ops {
namespace {

// The sum of the gradients that a value has received so far.
using Gradients = std::map<ValueId, ValueId>;

Status add_up(Graph& graph, Gradients& gradients, ValueId id, ValueId gradient) {
  if (id == kNoValue || gradient == kNoValue) return {};
  const auto [sum, is_first] = gradients.emplace(id, gradient);
  if (is_first) return {};
  SHOAL_ASSIGN(sum->second, graph.add(add, {sum->second, gradient}));
  return {};
}

ValueId found(const Gradients& gradients, ValueId id) {
  const auto it = gradients.find(id);
  return it == gradients.end() ? kNoValue : it->second;
}

// A node whose outputs have no gradient at all adds nothing: its inputs get kNoValue, not zeros.
Status go_back(Graph& graph, const Node& node, Gradients& gradients) {
  std::vector<ValueId> outputs;
  for (ValueId id : node.outputs) outputs.push_back(found(gradients, id));
  if (std::ranges::count(outputs, kNoValue) == std::ssize(outputs)) return {};
  SHOAL_CHECK(node.op->gradient != nullptr);
  SHOAL_ASSIGN(const std::vector<ValueId> inputs, node.op->gradient(node, outputs, graph));
  for (size_t i = 0; i < inputs.size(); ++i) {
    SHOAL_TRY(add_up(graph, gradients, node.inputs[i], inputs[i]));
  }
  return {};
}

}  // namespace

Result<std::vector<ValueId>> gradient_of_formula(
    const Node& node, std::span<const ValueId> outputs, Graph& graph,
    const std::function<std::vector<ValueId>(Chain& chain)>& formula) {
  const size_t begin = graph.nodes().size();
  Chain chain(graph, node.inputs[0]);
  const std::vector<ValueId> results = formula(chain);
  SHOAL_TRY(chain.status());
  Gradients gradients;
  for (size_t i = 0; i < outputs.size(); ++i) {
    SHOAL_TRY(add_up(graph, gradients, results[i], outputs[i]));
  }
  // The nodes of the formula are in topological order, so going back through them meets every value
  // after all of its readers: its sum is complete.
  for (size_t n = graph.nodes().size(); n-- > begin;) {
    const Node copy = graph.nodes()[n];  // the graph grows
    SHOAL_TRY(go_back(graph, copy, gradients));
  }
  std::vector<ValueId> wanted;
  for (ValueId id : node.inputs) wanted.push_back(found(gradients, id));
  return wanted;
}

}  // namespace shoal::ops
