// Lowering: the state that the rules of lowering share, namely the graph that is read,
// the one that is built, and which values exist in which layout.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "shoal/engine/cpu/layout/blocked.h"
#include "shoal/model/graph/graph.h"
#include "shoal/model/ops/norm/channel_scaling.h"

namespace shoal::cpu {

// Lowering: rewrites a graph for the CPU, with channels in blocks (blocked.h) wherever convolutions
// are, and between them as far as the layers there allow it.

// Returns the lowered graph. Its inputs and outputs stay plain. `block` is the number of channels
// in a block.
Result<Graph> lower(const Graph& graph, int64_t block);

// A value as whole planes of blocked images (lowering.h). Its first axes count planes.
struct Planes {
  Tensor numbers;    // i64, of the shape of these axes
  int64_t size = 0;  // elements in a plane
};

// Used by one thread for one graph, which must outlive it.
class Lowering {
 public:
  Lowering(const Graph& from, int64_t block);

  Result<Graph> run();

  const Graph& graph() const { return from_; }
  const Shape& shape(ValueId id) const { return from_[id].type.shape; }

  int64_t block() const { return block_; }
  // True if the value is in blocks, or made of blocked planes.
  bool is_blocked(ValueId id) const {
    return id != kNoValue && (copies(id).blocked != kNoValue || copies(id).is_image);
  }

  // The value in the new graph, in one layout. A reorder is added if it does not exist in that
  // layout yet; later calls return the same value.
  Result<ValueId> plain_of(ValueId id);
  Result<ValueId> blocked_of(ValueId id);

  // True if a convolution reads the value, directly or after layers that can stay in blocks.
  bool is_wanted_blocked(ValueId id) const { return wanted_[static_cast<size_t>(id)]; }

  // The node that reads the value, if there is exactly one and it is no output of the graph.
  const Node* only_reader(ValueId id) const;

  // The value as planes of blocked images, if it is one.
  std::optional<Planes> planes_of(ValueId id) const;
  // Records that an output of the node consists of these planes. It is computed on demand.
  void set_planes(const Node& node, ValueId output, Planes planes);

  // Inputs of a node: the first in blocks, the others plain.
  Result<std::vector<ValueId>> with_blocked_image(const Node& node);

  // Adds the replacement of a node: its first output is blocked, or none is.
  Status add_blocked(const Node& node, const Operator& op, std::vector<ValueId> inputs,
                     Attributes attributes);
  Status add_plain(const Node& node, const Operator& op, std::vector<ValueId> inputs,
                   Attributes attributes);
  // Replaces the node by others, all of them plain, as its operator defines it.
  Status expand(const Node& node);
  Result<ValueId> add(const Operator& op, std::vector<ValueId> inputs, Attributes attributes) {
    return to_.add(op, std::move(inputs), std::move(attributes));
  }
  ValueId add_constant(std::string name, Tensor tensor) {
    return to_.add_constant(std::move(name), std::move(tensor));
  }
  // A constant of one element per channel, [c, 1, 1], in blocks.
  ValueId add_blocked_constant(std::string name, const Tensor& plain) {
    return to_.add_constant(std::move(name), blocked_constant(plain));
  }

 private:
  // Copies of a value of the old graph: in one layout, in both, or not yet in any.
  struct Copies {
    ValueId plain = kNoValue;
    ValueId blocked = kNoValue;
    // Of a value that was not needed yet:
    const Node* node = nullptr;  // what computes it
    std::optional<Planes> planes = {};
    bool is_image = false;  // the planes make up an image in blocks
  };

  Copies& copies(ValueId id) { return copies_[static_cast<size_t>(id)]; }
  const Copies& copies(ValueId id) const { return copies_[static_cast<size_t>(id)]; }
  Status lower(const Node& node);
  Status copy(const Node& node);
  Result<ValueId> select(ValueId id);
  std::string blocked_name(ValueId id) const { return from_[id].name + ".blocked"; }
  Tensor blocked_constant(const Tensor& plain) const;

  const Graph& from_;
  const int64_t block_;
  Graph to_;
  std::vector<Copies> copies_;
  std::vector<bool> wanted_;                       // by value: see is_wanted_blocked()
  std::vector<std::vector<const Node*>> readers_;  // by value; null: it is an output of the graph
};

// How a node of floats scales its channels; nullopt for other nodes.
std::optional<ops::ChannelScaling> scaling_of(const Lowering& lowering, const Node& node);

// Rule for one operator. The first rule that fits lowers the node; if none fits, the node is copied
// and stays plain. fits() says whether the replacement is possible and worth it.
struct LoweringRule {
  const Operator* op;
  bool (*fits)(const Lowering&, const Node&);
  Status (*lower)(Lowering&, const Node&);
};
std::span<const LoweringRule> conv_rules();
std::span<const LoweringRule> volume_rules();
std::span<const LoweringRule> layer_rules();

inline constexpr size_t kImageRank = 4;  // only images [n, c, h, w] are blocked

// Planes: a value that moves whole planes [h, w] of blocked images and does nothing else. Concat,
// Split, Slice, Gather, Transpose and Reshape are such unless they change the last axes; a shuffle
// of channels is three of them. Lowering carries them out on the numbers of the planes. When a
// layer needs the image, one SelectChannels moves the planes.

// Axes that a Slice cuts, none of them negative; empty if it names none, or if they are not
// constant.
std::vector<int64_t> sliced_axes(const Lowering& lowering, const Node& node);
inline constexpr size_t kSliceAxes = 3;  // the input that names them

// The planes of a blocked image [n, c, h, w], one after the other.
Planes planes_of_image(ValueId image, const Shape& shape);

// The planes of a node's outputs; nullopt if it does more than move planes, or if those of its
// inputs are unknown.
std::optional<std::vector<Planes>> moved_planes(const Lowering& lowering, const Node& node);

// The channels of an image that is made of planes.
struct Selection {
  std::vector<ValueId> images;    // that they come from
  std::vector<int64_t> channels;  // of each of these
  std::vector<int64_t> from;      // as SelectChannels counts them
};

// The value as an image in blocks; nullopt if it has another shape, or if its images take different
// channels.
std::optional<Selection> selection_of(const Lowering& lowering, const Planes& planes,
                                      const Shape& shape);

std::span<const LoweringRule> plane_rules();

}  // namespace shoal::cpu
