// Questions that passes ask about the surroundings of a node.
#pragma once

#include <optional>
#include <vector>

#include "shoal/model/graph/graph.h"

namespace shoal::passes {

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

// A node of two inputs, one of which is a constant of one element.
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
