// Graph: an append-only list of nodes, so it is always in topological order.
// Passes do not edit a Graph, they build the next one.
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
#include "shoal/graph/operator.h"
#include "shoal/tensor/tensor.h"

namespace shoal {

template <class T>
T attribute(const Attributes& attributes, std::string_view name, T fallback) {
  auto it = attributes.find(name);
  const T* value = it == attributes.end() ? nullptr : std::get_if<T>(&it->second);
  return value ? *value : std::move(fallback);
}

struct Value {
  std::string name;  // unique in its graph
  TensorType type;
  std::optional<Tensor> constant;  // set for weights
};

struct Node {
  const Operator* op = nullptr;  // identity is the address: no enum, no switch
  std::vector<ValueId> inputs;   // kNoValue where an optional input is left out
  std::vector<ValueId> outputs;
  Attributes attributes;
  std::string name;  // for people: messages, profiles; may be empty

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

class Graph {
 public:
  ValueId add_input(std::string name, TensorType type);
  ValueId add_constant(std::string name, Tensor tensor);
  void mark_output(ValueId id) { outputs_.push_back(id); }
  // Another name for a value, made unique as ever; for what is known only when the graph is done.
  void rename(ValueId id, std::string name);

  // Infers the output types; fails where the operator refuses its inputs. `outputs` names the
  // outputs, and says how many there are; an empty name is made up.
  Result<std::vector<ValueId>> add_node(const Operator& op, std::vector<ValueId> inputs,
                                        Attributes attributes, std::vector<std::string> outputs,
                                        std::string name = {});
  // The common case: one output.
  Result<ValueId> add(const Operator& op, std::vector<ValueId> inputs, Attributes attributes = {},
                      std::string output = {});

  std::span<const Node> nodes() const { return nodes_; }
  std::span<const ValueId> inputs() const { return inputs_; }
  std::span<const ValueId> outputs() const { return outputs_; }
  size_t value_count() const { return values_.size(); }
  const Value& operator[](ValueId id) const { return values_[static_cast<size_t>(id)]; }

  // The node's inputs as its operator sees them.
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

// The types of a node's outputs: what the operator's own `infer` says, after the number of inputs
// and outputs and before the sizes are checked against Limits.
Result<std::vector<TensorType>> infer(const Node& node, std::span<const Operand> operands);

// Infers every node again and compares: what passes and the exporter run after themselves.
Status verify(const Graph& graph);

int64_t macs(const Graph& graph, const Node& node);

// What training would learn: the elements of float constants that some node reads as weights. Not
// scalars (an epsilon, the bounds of Clip), nor what is measured (statistic_inputs). What several
// nodes share counts for each of them, but once in the graph.
int64_t parameters(const Graph& graph, const Node& node);
int64_t parameters(const Graph& graph);

// Where in messages a node is: its name, or its operator and first output.
std::string place_of(const Graph& graph, const Node& node);

}  // namespace shoal
