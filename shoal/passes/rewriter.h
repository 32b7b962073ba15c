// Rewriter: builds the next graph from the last one, node by node.
#pragma once

#include <cstdint>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/graph/graph.h"

namespace shoal::passes {

// A pass walks the old graph's nodes; each is copied, or left out after replace() said what
// stands for its outputs. Constants come along when the first node that reads them does.
class Rewriter {
 public:
  explicit Rewriter(const Graph& from);

  const Graph& from() const { return from_; }
  Graph& to() { return to_; }

  // The value in the new graph that stands for `old`; kNoValue stays what it is.
  ValueId map(ValueId old);
  std::vector<ValueId> map(const std::vector<ValueId>& old);

  void replace(ValueId old, ValueId fresh) { fresh_[static_cast<size_t>(old)] = fresh; }

  // The node as it is, with mapped inputs. Its outputs keep their names.
  Status copy(const Node& node);
  // One node with another operator, inputs (already mapped) and attributes in the place of `node`.
  Status substitute(const Node& node, const Operator& op, std::vector<ValueId> inputs,
                    Attributes attributes);

  // Marks the outputs and gives the graph away.
  Graph finish();

 private:
  const Graph& from_;
  Graph to_;
  std::vector<ValueId> fresh_;  // per old value; kNoValue: not there yet
};

// How many nodes read each value; being an output of the graph counts as one reader.
std::vector<int> count_readers(const Graph& graph);

// The node that computes each value: an index into nodes(), or -1.
std::vector<int> producers(const Graph& graph);

}  // namespace shoal::passes
