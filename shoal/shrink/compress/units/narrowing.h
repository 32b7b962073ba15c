// Narrowing: a graph without some cells, node by node and by types alone, so that a removal can be
// tried without copying weights.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/model/graph/graph.h"
#include "shoal/shrink/compress/units/groups.h"
#include "shoal/shrink/compress/units/target.h"

namespace shoal::compress {

// Slabs: what one index of an output axis reads of a node's inputs, by the operator's `split`.
// groups.h joins indices by them; narrowing.h checks that a smaller node reads the same.

// One output of a node as a node of its own, because `split` describes output 0 only. Data inputs
// keep their places. Points into its source.
struct SingleOutput {
  Node node;
  std::vector<Operand> operands;
  TensorType type;             // of the output
  std::vector<Tensor> bounds;  // inputs that the node did not have; some operands point to them
};

// Output `number` by itself; nullopt if `split` cannot describe it. `needed` says of each output
// whether it is read. REQUIRES: `types` are those of the outputs.
std::optional<SingleOutput> single_output(const Node& node, std::span<const Operand> operands,
                                          std::span<const TensorType> types,
                                          const std::vector<bool>& needed, size_t output);

// Why single_output() gives nothing, for people.
std::string reason_not_asked(const Node& node);

// The tile of one index of an axis, whole along the others; nullopt if the node cannot be split
// there.
std::optional<Tile> slab_of(const SingleOutput& output, size_t axis, int64_t index);
// The tile of the whole output.
std::optional<Tile> whole_of(const SingleOutput& output);

// A run of indices of an input 0 axis that is multiplied with a run of an input 1 axis and summed,
// for some output indices.
struct Block {
  int64_t begin = 0, weight_begin = 0, length = 0;
  std::vector<int64_t> outputs;  // that read it; empty: all of them
};

// A product's blocks, of equal sizes: one for a plain product, one per group for a grouped
// convolution.
struct ProductBlocks {
  size_t axis = 0, weight_axis = 0;  // of inputs 0 and 1
  size_t output_axis = 0;            // that Block::outputs are indices of
  std::vector<Block> blocks;
};

// nullopt if the node is no product.
std::optional<ProductBlocks> product_blocks_of(const SingleOutput& output);
std::optional<ProductBlocks> product_blocks_of(const Graph& graph, const Node& node);

// Which values of a graph someone reads: a node, or the caller as an output.
std::vector<bool> values_needed(const Graph& graph);

// A node after removal.
struct NarrowNode {
  Node node;                           // with other attributes, and more inputs if some were added
  std::map<size_t, Tensor> constants;  // inputs replaced or added
  std::vector<Operand> operands;       // point into the graph and into `owned`
  std::vector<TensorType> types;       // of the outputs
  std::vector<Tensor> owned;
};

// The graph must outlive it unchanged. Const functions are safe for concurrent use.
class Narrowing {
 public:
  explicit Narrowing(const Graph& graph);

  // Removes these cells, too.
  void drop(const Unit& unit);

  // Whether cells of a value, or of one that the node reads or computes, are removed.
  bool touches(ValueId id) const;
  bool touches(const Node& node) const;

  // The indices that are left of each axis, and their numbers.
  Remainder::Axes left(ValueId id) const;
  Shape shape(ValueId id) const;

  // The node after removal. kUnsupported if no attributes of the operator give the remaining
  // outputs.
  Result<NarrowNode> narrow(const Node& node) const;

  // kUnsupported if the narrow node reads something else for a remaining index than the node did.
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
