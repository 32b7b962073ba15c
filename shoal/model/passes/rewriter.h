// Rewriter: builds the next graph from the last one, node by node. Not thread-safe; the old graph
// must outlive it and must not change.
#pragma once

#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/model/graph/graph.h"

namespace shoal::passes {

// A pass walks the nodes of the old graph in order. It copies each, or leaves it out after
// replace() has named the values that stand for its outputs. Constants are added with the first
// node that reads them.
class Rewriter {
 public:
  explicit Rewriter(const Graph& from) : Rewriter(from, {}) {}
  // These inputs have other types in the new graph. REQUIRES: replace() names what stands for one
  // of them before anything reads it.
  Rewriter(const Graph& from, const std::map<ValueId, DType>& retyped);

  const Graph& from() const { return from_; }
  Graph& to() { return to_; }

  // The value in the new graph that stands for `old`; kNoValue for kNoValue.
  ValueId map(ValueId old);
  std::vector<ValueId> map(const std::vector<ValueId>& old);

  // From now on `fresh` stands for `old`. REQUIRES: both have the same type.
  void replace(ValueId old, ValueId fresh);

  // The node as it is, with mapped inputs. Its outputs keep their names.
  Status copy(const Node& node);
  // Adds a node with another operator, inputs (already mapped) and attributes in the place of
  // `node`. If the operator refuses them or the outputs would have other types, returns false and
  // changes nothing, so that passes can try a rewrite.
  bool substitute(const Node& node, const Operator& op, std::vector<ValueId> inputs,
                  Attributes attributes);

  // A new constant for the node that replaces `node`: "y.bias" if its output is y.
  ValueId add_constant(const Node& node, std::string_view role, Tensor tensor);

  // Marks the outputs, under the names they had, and returns the graph. REQUIRES: called once, at
  // the end.
  Result<Graph> finish();

 private:
  Status add(const Node& node, const Operator& op, std::vector<ValueId> inputs,
             Attributes attributes);

  const Graph& from_;
  Graph to_;
  std::vector<ValueId> fresh_;  // per old value; kNoValue: not made yet
};

// Walks the nodes in order and copies those for which f(rewriter, node) returns false.
template <class F>
Result<Graph> rewrite(const Graph& graph, F f) {
  Rewriter rewriter(graph);
  for (const Node& node : graph.nodes()) {
    if (!f(rewriter, node)) SHOAL_TRY(rewriter.copy(node));
  }
  return rewriter.finish();
}

// Queries about the neighbours of a node.

// The producer and the readers of each value of a graph. Made in linear time, asked in constant
// time. The graph must outlive it and must not change.
class UseDefs {
 public:
  explicit UseDefs(const Graph& graph);

  // Null: an input of the graph or a constant.
  const Node* producer(ValueId id) const;
  // The same, if it is a node of this operator.
  const Node* producer(ValueId id, const Operator& op) const;

  // The node that is the only reader of the value and reads it once. Null: there are none or
  // several, or it is an output of the graph.
  const Node* only_reader(ValueId id) const;
  bool is_read(ValueId id) const { return readers_[static_cast<size_t>(id)] > 0; }

  // The producer, if it is of this operator and has one reader only. A pass that replaces the
  // reader may replace the producer, too.
  const Node* only_for_reader(ValueId id, const Operator& op) const;

 private:
  const Graph& graph_;
  std::vector<int> producer_;  // index of the node, -1: none
  std::vector<int> reader_;    // index of the last one, -1: none
  std::vector<int> readers_;   // their number; being an output of the graph counts
};

// Null if the value is not a constant, or not given.
const Tensor* constant(const Graph& graph, ValueId id);

// The element of a constant that has only one.
std::optional<double> scalar(const Graph& graph, ValueId id);

// Whether the only element of a constant is `expected`, up to the rounding of exporters.
bool is_scalar(const Graph& graph, ValueId id, double expected);

// A node of two inputs, one a constant of one element.
struct WithScalar {
  ValueId other;
  double scalar;
};
std::optional<WithScalar> with_scalar(const Graph& graph, const Node& node);

// The axes of a Transpose's input in the order of its output.
std::vector<size_t> permutation(const Graph& graph, const Node& transpose);

// Whether the output has the elements of input 0 in the same order, under any shape.
bool is_view(const Graph& graph, const Node& node);

}  // namespace shoal::passes
