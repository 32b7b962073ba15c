#include "shoal/passes/rewriter.h"

namespace shoal::passes {

Rewriter::Rewriter(const Graph& from) : from_(from), fresh_(from.value_count(), kNoValue) {
  for (ValueId id : from.inputs()) replace(id, to_.add_input(from[id].name, from[id].type));
}

ValueId Rewriter::map(ValueId old) {
  if (old == kNoValue) return kNoValue;
  ValueId& fresh = fresh_[static_cast<size_t>(old)];
  if (fresh == kNoValue) {
    SHOAL_CHECK(from_[old].constant.has_value());
    fresh = to_.add_constant(from_[old].name, *from_[old].constant);
  }
  return fresh;
}

std::vector<ValueId> Rewriter::map(const std::vector<ValueId>& old) {
  std::vector<ValueId> fresh;
  for (ValueId id : old) fresh.push_back(map(id));
  return fresh;
}

Status Rewriter::copy(const Node& node) {
  return substitute(node, *node.op, map(node.inputs), node.attributes);
}

Status Rewriter::substitute(const Node& node, const Operator& op, std::vector<ValueId> inputs,
                            Attributes attributes) {
  std::vector<std::string> names;
  for (ValueId id : node.outputs) names.push_back(from_[id].name);
  SHOAL_ASSIGN(auto outputs, to_.add_node(op, std::move(inputs), std::move(attributes),
                                          std::move(names), node.name));
  for (size_t i = 0; i < outputs.size(); ++i) replace(node.outputs[i], outputs[i]);
  return {};
}

Graph Rewriter::finish() {
  for (ValueId id : from_.outputs()) to_.mark_output(map(id));
  return std::move(to_);
}

std::vector<int> count_readers(const Graph& graph) {
  std::vector<int> readers(graph.value_count(), 0);
  auto read = [&](ValueId id) {
    if (id != kNoValue) ++readers[static_cast<size_t>(id)];
  };
  for (const Node& node : graph.nodes()) {
    for (ValueId id : node.inputs) read(id);
  }
  for (ValueId id : graph.outputs()) read(id);
  return readers;
}

std::vector<int> producers(const Graph& graph) {
  std::vector<int> made_by(graph.value_count(), -1);
  for (size_t n = 0; n < graph.nodes().size(); ++n) {
    for (ValueId id : graph.nodes()[n].outputs)
      made_by[static_cast<size_t>(id)] = static_cast<int>(n);
  }
  return made_by;
}

}  // namespace shoal::passes
