#include "shoal/model/passes/rewriter.h"

#include <algorithm>
#include <cmath>

#include "shoal/model/ops/convert.h"
#include "shoal/model/ops/ops.h"

namespace shoal::passes {

UseDefs::UseDefs(const Graph& graph)
    : graph_(graph),
      producer_(graph.value_count(), -1),
      reader_(graph.value_count(), -1),
      readers_(graph.value_count(), 0) {
  for (size_t n = 0; n < graph.nodes().size(); ++n) {
    for (ValueId id : graph.nodes()[n].outputs) {
      producer_[static_cast<size_t>(id)] = static_cast<int>(n);
    }
    for (ValueId id : graph.nodes()[n].inputs) {
      if (id == kNoValue) continue;
      reader_[static_cast<size_t>(id)] = static_cast<int>(n);
      ++readers_[static_cast<size_t>(id)];
    }
  }
  // The caller of the graph is a reader, too, though not a node.
  for (ValueId id : graph.outputs()) {
    reader_[static_cast<size_t>(id)] = -1;
    ++readers_[static_cast<size_t>(id)];
  }
}

const Node* UseDefs::producer(ValueId id) const {
  const int n = id == kNoValue ? -1 : producer_[static_cast<size_t>(id)];
  return n < 0 ? nullptr : &graph_.nodes()[static_cast<size_t>(n)];
}

const Node* UseDefs::producer(ValueId id, const Operator& op) const {
  const Node* node = producer(id);
  return node != nullptr && node->op == &op ? node : nullptr;
}

const Node* UseDefs::only_reader(ValueId id) const {
  const int n = reader_[static_cast<size_t>(id)];
  return n < 0 || readers_[static_cast<size_t>(id)] != 1 ? nullptr
                                                         : &graph_.nodes()[static_cast<size_t>(n)];
}

const Node* UseDefs::only_for_reader(ValueId id, const Operator& op) const {
  const Node* node = producer(id, op);
  return node != nullptr && only_reader(id) != nullptr ? node : nullptr;
}

const Tensor* constant(const Graph& graph, ValueId id) {
  return id != kNoValue && graph[id].constant ? &*graph[id].constant : nullptr;
}

std::optional<double> scalar(const Graph& graph, ValueId id) {
  const Tensor* tensor = constant(graph, id);
  if (tensor == nullptr || tensor->count() != 1) return std::nullopt;
  return ops::converted(*tensor, DType::kF64).data<double>()[0];
}

bool is_scalar(const Graph& graph, ValueId id, double expected) {
  constexpr double kRounding = 1e-5;
  const std::optional<double> value = scalar(graph, id);
  return value && std::abs(*value - expected) <= kRounding * std::abs(expected);
}

std::optional<WithScalar> with_scalar(const Graph& graph, const Node& node) {
  if (node.inputs.size() != 2) return std::nullopt;
  for (size_t i = 0; i < 2; ++i) {
    if (auto value = scalar(graph, node.inputs[i])) return WithScalar{node.inputs[1 - i], *value};
  }
  return std::nullopt;
}

std::vector<size_t> permutation(const Graph& graph, const Node& transpose) {
  const size_t rank = graph[transpose.inputs[0]].type.shape.rank();
  std::vector<size_t> axes;
  for (int64_t axis : transpose.integers("perm")) axes.push_back(static_cast<size_t>(axis));
  if (!transpose.has("perm")) {
    for (size_t d = rank; d-- > 0;) axes.push_back(d);
  }
  return axes;
}

namespace {

bool moves_only_ones(const Graph& graph, const Node& transpose) {
  const Shape& shape = graph[transpose.inputs[0]].type.shape;
  std::vector<size_t> axes = permutation(graph, transpose);
  // Axes of size 1 may go anywhere without an element moving.
  std::erase_if(axes, [&](size_t axis) { return shape[axis] == 1; });
  return std::ranges::is_sorted(axes);
}

}  // namespace

bool is_view(const Graph& graph, const Node& node) {
  if (node.op == &ops::transpose) return moves_only_ones(graph, node);
  return node.op == &ops::reshape || node.op == &ops::flatten || node.op == &ops::squeeze ||
         node.op == &ops::unsqueeze || node.op == &ops::identity;
}

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
