// What passes ask about a node's surroundings.
#pragma once

#include <optional>
#include <vector>

#include "shoal/graph/graph.h"

namespace shoal::passes {

// Who computes and who reads each value of a graph. Takes linear time to make, none to ask.
class UseDefs {
 public:
  explicit UseDefs(const Graph& graph);

  // Null: an input of the graph or a constant.
  const Node* producer(ValueId id) const;
  // The same, if it is a node of this operator.
  const Node* producer(ValueId id, const Operator& op) const;

  // The one node that reads the value, once. Null: nobody, several, or the graph's caller.
  const Node* only_reader(ValueId id) const;
  bool is_read(ValueId id) const { return readers_[static_cast<size_t>(id)] > 0; }

  // The producer, if it is of this operator and works for one reader alone: a node that whoever
  // replaces its reader may replace too.
  const Node* only_for_reader(ValueId id, const Operator& op) const;

 private:
  const Graph& graph_;
  std::vector<int> producer_;  // index of the node, -1: none
  std::vector<int> reader_;    // index of the last one, -1: none
  std::vector<int> readers_;   // how many; being an output of the graph counts
};

// Null if the value is not a constant, or not given.
const Tensor* constant(const Graph& graph, ValueId id);

// The element of a constant that has only one.
std::optional<double> scalar(const Graph& graph, ValueId id);

// As above, and it is `expected` up to the rounding of exporters.
bool is_scalar(const Graph& graph, ValueId id, double expected);

// A node of two inputs, one of which is a constant of one element.
struct WithScalar {
  ValueId other;
  double scalar;
};
std::optional<WithScalar> with_scalar(const Graph& graph, const Node& node);

// The axes of a Transpose's input in the order of its output.
std::vector<size_t> permutation(const Graph& graph, const Node& transpose);

// The output has the elements of input 0 in the same order, under another shape or the same.
bool is_view(const Graph& graph, const Node& node);

}  // namespace shoal::passes
