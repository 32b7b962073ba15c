// Builds a part as a separate graph. A node reads each input through `read`, which returns the
// value itself if exactly that box is held, and a slice of it otherwise: several nodes may read
// different boxes of one bounding box. Weights are cropped here, so that a worker is sent only its
// share.
#include <map>

#include "shoal/model/ops/ops.h"
#include "shoal/plan/part.h"

namespace shoal::plan {
namespace {

// Builds the part's graph, node by node.
class Builder {
 public:
  explicit Builder(const Graph& whole) : whole_(whole) {}

  Result<Graph> run(const Part& part) {
    for (const Piece& piece : part.inputs) {
      const Value& value = whole_[piece.value];
      const ValueId id = to_.add_input(value.name, {value.type.dtype, piece.region.shape()});
      held_[static_cast<int32_t>(piece.value)] = {id, piece.region};
    }
    for (const PartNode& node : part.nodes) SHOAL_TRY(add(node));
    for (const Piece& piece : part.outputs) {
      SHOAL_ASSIGN(const ValueId id, read(piece.value, piece.region));
      to_.mark_output(id);
    }
    return std::move(to_);
  }

 private:
  struct Held {
    ValueId id;
    Region region;
  };

  Status add(const PartNode& part) {
    const Node& node = whole_.nodes()[part.node];
    if (part.is_weight) {
      add_weight(node, part);
      return {};
    }
    if (part.is_copy) {
      SHOAL_ASSIGN(const ValueId id, read(node.inputs[0], part.inputs[0]));
      held_[static_cast<int32_t>(node.outputs[0])] = {id, part.tile.output};
      return {};
    }
    std::vector<ValueId> inputs;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const auto replaced = part.tile.constants.find(i);
      if (replaced != part.tile.constants.end()) {
        inputs.push_back(to_.add_constant(whole_[node.inputs[i]].name, replaced->second));
      } else if (node.inputs[i] == kNoValue) {
        inputs.push_back(kNoValue);
      } else {
        SHOAL_ASSIGN(const ValueId id, read(node.inputs[i], part.inputs[i]));
        inputs.push_back(id);
      }
    }
    std::vector<std::string> names;
    for (ValueId id : node.outputs) names.push_back(whole_[id].name);
    SHOAL_ASSIGN(const std::vector<ValueId> outputs,
                 to_.add_node(*node.op, std::move(inputs), part.tile.attributes, names, node.name));
    for (size_t i = 0; i < outputs.size(); ++i) {
      held_[static_cast<int32_t>(node.outputs[i])] = {
          outputs[i],
          i == 0 ? part.tile.output : Region::whole(whole_[node.outputs[i]].type.shape)};
    }
    SHOAL_CHECK(to_[outputs[0]].type.shape == part.tile.output.shape());
    return {};
  }

  // Computes the node with the reference kernels. It runs once for a part, so speed does not
  // matter.
  void add_weight(const Node& node, const PartNode& part) {
    Node tile = node;
    tile.attributes = part.tile.attributes;
    std::vector<Tensor> inputs;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const auto replaced = part.tile.constants.find(i);
      inputs.push_back(replaced != part.tile.constants.end() ? replaced->second
                       : node.inputs[i] == kNoValue          ? Tensor()
                                                    : weight(node.inputs[i], part.inputs[i]));
    }
    std::vector<Tensor> outputs = {
        Tensor({whole_[node.outputs[0]].type.dtype, part.tile.output.shape()})};
    node.op->reference(tile, inputs, outputs);
    weights_[node.outputs[0]] = {outputs[0], part.tile.output};
  }

  // The box of a constant, or of a value computed from constants.
  Tensor weight(ValueId value, const Region& region) const {
    const auto made = weights_.find(value);
    if (made == weights_.end()) {
      const Tensor& all = *whole_[value].constant;
      return region == Region::whole(all.shape()) ? all : crop(all, region);
    }
    const auto& [tensor, held] = made->second;
    return region == held ? tensor : crop(tensor, relative(region, held));
  }

  // The box of a value: the held box, or a slice of it.
  Result<ValueId> read(ValueId value, const Region& region) {
    if (whole_[value].constant || weights_.contains(value)) return read_weight(value, region);
    // Nothing was traced for an empty region, so nothing is held: an empty constant stands for it.
    if (is_empty(region)) {
      const Value& of = whole_[value];
      return to_.add_constant(of.name, Tensor({of.type.dtype, region.shape()}));
    }
    const Held& held = held_.at(static_cast<int32_t>(value));
    if (held.region == region) return held.id;
    const size_t rank = region.begin.rank();
    std::vector<int64_t> starts, ends;
    for (size_t d = 0; d < rank; ++d) {
      starts.push_back(region.begin[d] - held.region.begin[d]);
      ends.push_back(region.end[d] - held.region.begin[d]);
    }
    const Shape list{static_cast<int64_t>(rank)};
    const std::string& name = whole_[value].name;
    return to_.add(ops::slice,
                   {held.id, to_.add_constant(name + ".starts", Tensor::of<int64_t>(list, starts)),
                    to_.add_constant(name + ".ends", Tensor::of<int64_t>(list, ends))},
                   {}, name);
  }

  ValueId read_weight(ValueId value, const Region& region) {
    const std::string& name = whole_[value].name;
    if (region != Region::whole(whole_[value].type.shape))
      return to_.add_constant(name, weight(value, region));
    // Whole constants are added once and shared by all their readers.
    const auto [it, is_new] = constants_.emplace(static_cast<int32_t>(value), kNoValue);
    if (is_new) it->second = to_.add_constant(name, weight(value, region));
    return it->second;
  }

  const Graph& whole_;
  Graph to_;
  std::map<int32_t, Held> held_;
  std::map<int32_t, ValueId> constants_;
  std::map<ValueId, std::pair<Tensor, Region>> weights_;  // computed here, and which box
};

}  // namespace

Result<Graph> to_graph(const Graph& whole, const Part& part) { return Builder(whole).run(part); }

}  // namespace shoal::plan
