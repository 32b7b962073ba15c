// Uses and definitions of values, and small questions of passes: see use_defs.h.
#include "shoal/model/passes/use_defs.h"

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

}  // namespace shoal::passes
