// Rewriter: builds the next graph from the last one, node by node.
#pragma once

#include <string_view>
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

  void replace(ValueId old, ValueId fresh);

  // The node as it is, with mapped inputs. Its outputs keep their names.
  Status copy(const Node& node);
  // One node with another operator, inputs (already mapped) and attributes in the place of `node`.
  // Says no, and does nothing, where the operator refuses them or the outputs would have other
  // types: a pass that is asked for too much leaves the node as it is.
  bool substitute(const Node& node, const Operator& op, std::vector<ValueId> inputs,
                  Attributes attributes);

  // A new constant that what stands for `node` is to read: "y.bias" where its output is y.
  ValueId add_constant(const Node& node, std::string_view role, Tensor tensor);

  // Marks the outputs, under the names they had, and gives the graph away.
  Result<Graph> finish();

 private:
  Status add(const Node& node, const Operator& op, std::vector<ValueId> inputs,
             Attributes attributes);

  const Graph& from_;
  Graph to_;
  std::vector<ValueId> fresh_;  // per old value; kNoValue: not there yet
};

// Walks the nodes in order; those that f(rewriter, node) does not say it has dealt with are copied.
template <class F>
Result<Graph> rewrite(const Graph& graph, F f) {
  Rewriter rewriter(graph);
  for (const Node& node : graph.nodes()) {
    if (!f(rewriter, node)) SHOAL_TRY(rewriter.copy(node));
  }
  return rewriter.finish();
}

}  // namespace shoal::passes
