// Rewriter: see rewriter.h.
#include "shoal/model/passes/rewriter.h"

#include "shoal/model/ops/ops.h"

namespace shoal::passes {

Rewriter::Rewriter(const Graph& from, const std::map<ValueId, DType>& retyped)
    : from_(from), fresh_(from.value_count(), kNoValue) {
  for (ValueId id : from.inputs()) {
    const auto other = retyped.find(id);
    if (other == retyped.end()) {
      replace(id, to_.add_input(from[id].name, from[id].type));
    } else {
      to_.add_input(from[id].name, {other->second, from[id].type.shape});
    }
  }
}

// Constants are added on first use, so those that only removed nodes read disappear.
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
  fresh.reserve(old.size());
  for (ValueId id : old) fresh.push_back(map(id));
  return fresh;
}

void Rewriter::replace(ValueId old, ValueId fresh) {
  // Readers were inferred with the old type; another would make them wrong silently.
  SHOAL_CHECK(from_[old].type == to_[fresh].type);
  fresh_[static_cast<size_t>(old)] = fresh;
}

Status Rewriter::add(const Node& node, const Operator& op, std::vector<ValueId> inputs,
                     Attributes attributes) {
  std::vector<std::string> names;
  for (ValueId id : node.outputs) names.push_back(from_[id].name);
  SHOAL_ASSIGN(auto outputs, to_.add_node(op, std::move(inputs), std::move(attributes),
                                          std::move(names), node.name));
  for (size_t i = 0; i < outputs.size(); ++i) replace(node.outputs[i], outputs[i]);
  return {};
}

Status Rewriter::copy(const Node& node) {
  return add(node, *node.op, map(node.inputs), node.attributes);
}

bool Rewriter::substitute(const Node& node, const Operator& op, std::vector<ValueId> inputs,
                          Attributes attributes) {
  const Node wanted{&op, inputs, node.outputs, attributes, node.name};
  auto types = infer(wanted, to_.operands(inputs));
  if (!types.ok() || *types != from_.types(node.outputs)) return false;
  return add(node, op, std::move(inputs), std::move(attributes)).ok();
}

ValueId Rewriter::add_constant(const Node& node, std::string_view role, Tensor tensor) {
  return to_.add_constant(from_[node.outputs[0]].name + "." + std::string(role), std::move(tensor));
}

// Outputs keep their names, which are the interface of a model. A value that becomes an output
// takes the name over; if it has to keep its own, because it is an input, a constant or another
// output, an Identity carries the name.
Result<Graph> Rewriter::finish() {
  std::vector<bool> keeps_name(to_.value_count() + from_.outputs().size(), false);
  auto keeps = [&](ValueId fresh) { return keeps_name[static_cast<size_t>(fresh)]; };
  for (ValueId id : to_.inputs()) keeps(id) = true;
  for (ValueId old : from_.outputs()) {
    const ValueId fresh = map(old);
    if (to_[fresh].constant || to_[fresh].name == from_[old].name) keeps(fresh) = true;
  }
  for (ValueId old : from_.outputs()) {
    ValueId fresh = map(old);
    if (to_[fresh].name != from_[old].name) {
      if (keeps(fresh)) {
        SHOAL_ASSIGN(fresh, to_.add(ops::identity, {fresh}, {}, from_[old].name));
        replace(old, fresh);
      } else {
        to_.rename(fresh, from_[old].name);
      }
      keeps(fresh) = true;
    }
    to_.mark_output(fresh);
  }
  return std::move(to_);
}

}  // namespace shoal::passes
