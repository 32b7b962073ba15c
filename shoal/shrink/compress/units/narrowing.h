// Narrowing: a graph without some cells, node by node and by types alone. No weights are copied, so
// that a removal can be tried and its work be counted.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/model/graph/graph.h"
#include "shoal/shrink/compress/units/groups.h"
#include "shoal/shrink/compress/units/target.h"

namespace shoal::compress {

// Which values of a graph someone reads: a node, or the caller as an output.
std::vector<bool> values_needed(const Graph& graph);

// A node among what is left.
struct NarrowNode {
  Node node;                           // with other attributes, and more inputs if some were added
  std::map<size_t, Tensor> constants;  // inputs replaced or added
  std::vector<Operand> operands;       // point into the graph and into `owned`
  std::vector<TensorType> types;       // of the outputs
  std::vector<Tensor> owned;
};

// The graph must outlive it and must not change. Any threads may call const functions at once.
class Narrowing {
 public:
  explicit Narrowing(const Graph& graph);

  // These cells are gone, too.
  void drop(const Unit& unit);

  // Whether cells of a value, or of one that the node reads or computes, are gone.
  bool touches(ValueId id) const;
  bool touches(const Node& node) const;

  // The indices that are left of each axis, and their numbers.
  Remainder::Axes left(ValueId id) const;
  Shape shape(ValueId id) const;

  // The node among what is left. Fails with kUnsupported if no settings of the operator give the
  // outputs that are left.
  Result<NarrowNode> narrow(const Node& node) const;

  // Fails with kUnsupported if the narrow node reads something else for an index that is left than
  // the node did.
  Status check_reads(const Node& node, const NarrowNode& smaller) const;

  // The costs of what is left. Fails as narrow() does.
  Result<Size> size() const;

 private:
  Status check_reads(const Node& node, const NarrowNode& smaller, size_t output) const;

  const Graph& graph_;
  std::vector<bool> needed_;
  std::vector<std::vector<std::vector<bool>>> gone_;  // per value, axis and index; empty: none
};

}  // namespace shoal::compress
