// Graph: an append-only list of nodes, so it is always in topological order. Passes do not edit a
// Graph, they build the next one.
//
//   Graph graph;
//   ValueId x = graph.add_input("x", {DType::kF32, {1, 10}});
//   SHOAL_ASSIGN(ValueId y, graph.add(*ops::find("Relu"), {x}, {}, "y"));
//   graph.mark_output(y);
//
// A Graph is a value: copies are independent, but share the elements of constants. Types are
// checked when a node is added, so every value of a Graph is well typed. References and spans that
// it hands out are valid until it is changed or destroyed.
//
// Thread safety: any threads may call const functions of one Graph at once. A thread that calls
// another function needs the Graph to itself.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_set>
#include <utility>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/model/graph/operator.h"
#include "shoal/model/tensor/tensor.h"

#pragma GCC visibility push(default)

namespace shoal {

// The attribute of this name, or `fallback` if there is none of type T.
template <class T>
T attribute(const Attributes& attributes, std::string_view name, T fallback) {
  auto it = attributes.find(name);
  const T* value = it == attributes.end() ? nullptr : std::get_if<T>(&it->second);
  return value ? *value : std::move(fallback);
}

// A tensor that nodes read or compute: an input of the graph, a constant or the output of a node.
struct Value {
  std::string name;                // unique in its graph, not empty
  TensorType type;                 // one that `check` accepts
  std::optional<Tensor> constant;  // set for weights
};

// One application of an operator.
struct Node {
  const Operator* op = nullptr;  // its address is its identity; not owned
  std::vector<ValueId> inputs;   // kNoValue if an optional input is left out
  std::vector<ValueId> outputs;  // at least one
  Attributes attributes;         // as the operator knows them; others are ignored
  std::string name;              // for messages and profiles; may be empty

  // Attributes by name, or the fallback where a node has none of that name and type.
  int64_t integer(std::string_view key, int64_t fallback) const {
    return attribute<int64_t>(attributes, key, fallback);
  }
  float real(std::string_view key, float fallback) const {
    return attribute<float>(attributes, key, fallback);
  }
  std::string text(std::string_view key, std::string fallback) const {
    return attribute<std::string>(attributes, key, std::move(fallback));
  }
  std::vector<int64_t> integers(std::string_view key, std::vector<int64_t> fallback = {}) const {
    return attribute<std::vector<int64_t>>(attributes, key, std::move(fallback));
  }
  bool has(std::string_view key) const { return attributes.find(key) != attributes.end(); }
};

// A network. See the head of this file.
class Graph {
 public:
  // Appends an input. Names that are taken or empty are made unique by a suffix, here and in every
  // function below.
  ValueId add_input(std::string name, TensorType type);
  // Weights and other constants, not copied. REQUIRES: tensor.defined().
  ValueId add_constant(std::string name, Tensor tensor);
  // A value becomes the next output. One value may be several outputs. REQUIRES: it is of this
  // graph.
  void mark_output(ValueId id) { outputs_.push_back(id); }
  // Renames a value; the name is made unique. For names known only when the graph is complete.
  void rename(ValueId id, std::string name);

  // Infers the output types. If the operator refuses its inputs or attributes, fails and changes
  // nothing. `outputs` has the name of each output; empty names are made up. REQUIRES: inputs are
  // of this graph, or kNoValue if the operator allows it.
  Result<std::vector<ValueId>> add_node(const Operator& op, std::vector<ValueId> inputs,
                                        Attributes attributes, std::vector<std::string> outputs,
                                        std::string name = {});
  // The common case: one output.
  Result<ValueId> add(const Operator& op, std::vector<ValueId> inputs, Attributes attributes = {},
                      std::string output = {});

  // Nodes in topological order; inputs and outputs in the order in which they were added.
  std::span<const Node> nodes() const { return nodes_; }
  std::span<const ValueId> inputs() const { return inputs_; }
  std::span<const ValueId> outputs() const { return outputs_; }
  // Values have the ids from 0 to below this.
  size_t value_count() const { return values_.size(); }
  // REQUIRES: the id is of this graph, which is not checked.
  const Value& operator[](ValueId id) const { return values_[static_cast<size_t>(id)]; }

  // The values as an operator sees them, and their types alone. REQUIRES: they are of this graph.
  std::vector<Operand> operands(std::span<const ValueId> inputs) const;
  std::vector<TensorType> types(std::span<const ValueId> values) const;

 private:
  std::string unique(std::string name);  // and takes it
  ValueId add_value(std::string name, TensorType type, std::optional<Tensor> constant);

  std::vector<Node> nodes_;
  std::vector<Value> values_;
  std::vector<ValueId> inputs_;
  std::vector<ValueId> outputs_;
  std::unordered_set<std::string> names_;
  size_t fresh_ = 0;  // the next number to make a name unique with
};

// The types of a node's outputs, as the operator's own `infer` gives them. The number of inputs and
// outputs is checked before that, the sizes against Limits after it.
Result<std::vector<TensorType>> infer(const Node& node, std::span<const Operand> operands);

// Infers every node again and compares the types. Passes and the exporter check their result with
// it.
Status verify(const Graph& graph);

// Multiply-accumulates of a node of the graph: the usual measure of work.
int64_t macs(const Graph& graph, const Node& node);
// Of all nodes.
int64_t total_macs(const Graph& graph);

// The number of elements that training would learn: those of float constants read as weights.
// Scalars (an epsilon, the bounds of Clip) and measured inputs (statistic_inputs) do not count. A
// constant that several nodes share counts for each of them, but once in the graph.
int64_t parameters(const Graph& graph, const Node& node);
int64_t parameters(const Graph& graph);

// The place of a node in messages: its name, or its operator and first output.
std::string place_of(const Graph& graph, const Node& node);

}  // namespace shoal

#pragma GCC visibility pop
