// Every node with removed cells gets new attributes (Operator::shrink) and types, and is checked:
// for each remaining index of an output axis, `split` must say that the new node reads what the old
// one read, renumbered. So a stride or a scale that changes its meaning is found for any operator.
#include "shoal/shrink/compress/units/narrowing.h"

#include <algorithm>

#include "shoal/model/graph/parameter.h"
#include "shoal/model/graph/text.h"
#include "shoal/model/ops/contraction.h"
#include "shoal/model/ops/ops.h"
#include "shoal/model/ops/require.h"

namespace shoal::compress {
namespace {

// Questions to `split`. A plain product has an axis that every output element reads whole
// (model/ops/contraction.h). In a grouped one every output channel reads a block of channels; its
// slab is a plain product, and the slabs give the blocks.

// Output i of a Split is a Slice.
SingleOutput as_slice(const Node& node, std::span<const Operand> operands,
                      std::span<const TensorType> types, size_t output) {
  const Shape& from = operands[0].type.shape;
  const size_t axis = ops::axis_in(node.integer("axis", 0), from.rank());
  int64_t begin = 0;
  for (size_t i = 0; i < output; ++i) begin += types[i].shape[axis];
  SingleOutput slice{
      {&ops::slice, {}, {node.outputs[output]}, {}, node.name}, {operands[0]}, types[output], {}};
  for (int64_t bound : {begin, begin + types[output].shape[axis], static_cast<int64_t>(axis)}) {
    slice.bounds.push_back(Tensor::of<int64_t>({1}, {bound}));
  }
  slice.node.inputs = {node.inputs[0], kNoValue, kNoValue, kNoValue};
  for (const Tensor& bound : slice.bounds) slice.operands.push_back({true, bound.type(), &bound});
  return slice;
}

Region slab(const Shape& shape, size_t axis, int64_t index) {
  Region region = Region::whole(shape);
  region.begin[axis] = index;
  region.end[axis] = index + 1;
  return region;
}

// The tile as a node.
SingleOutput as_node(const SingleOutput& whole, const Tile& tile) {
  SingleOutput part = whole;
  part.node.attributes = tile.attributes;
  for (size_t i = 0; i < part.operands.size(); ++i) {
    Operand& operand = part.operands[i];
    const auto constant = tile.constants.find(i);
    if (constant != tile.constants.end()) {
      operand = {true, constant->second.type(), &constant->second};
    } else if (operand.given && !part.node.op->reads_value(i)) {
      operand.type.shape = tile.inputs[i].shape();
      operand.value = nullptr;
    }
  }
  return part;
}

// The blocks that the slabs along one axis of the output read; nullopt if they are no products, or
// each reads all there is.
std::optional<ProductBlocks> blocks_along(const SingleOutput& output, size_t output_axis) {
  ProductBlocks products;
  products.output_axis = output_axis;
  for (int64_t index = 0; index < output.type.shape[output_axis]; ++index) {
    const auto tile = slab_of(output, output_axis, index);
    if (!tile) return std::nullopt;
    const SingleOutput part = as_node(output, *tile);
    const auto along = ops::contraction_of(part.node, part.operands);
    if (!along || along->length == output.operands[0].type.shape[along->axis]) return std::nullopt;
    const Block block{tile->inputs[0].begin[along->axis],
                      tile->inputs[1].begin[along->weight_axis],
                      along->length,
                      {}};
    std::vector<Block>& blocks = products.blocks;
    if (blocks.empty()) {
      products.axis = along->axis;
      products.weight_axis = along->weight_axis;
    }
    if (along->axis != products.axis || along->weight_axis != products.weight_axis) {
      return std::nullopt;
    }
    if (blocks.empty() || blocks.back().begin != block.begin) {
      // Windows that overlap are no blocks.
      if (!blocks.empty() && block.begin < blocks.back().begin + blocks.back().length) {
        return std::nullopt;
      }
      blocks.push_back(block);
    }
    blocks.back().outputs.push_back(index);
  }
  for (const Block& block : products.blocks) {
    const Block& first = products.blocks.front();
    if (block.length != first.length || block.outputs.size() != first.outputs.size()) {
      return std::nullopt;
    }
  }
  return products;
}

Status refused(const Graph& graph, const Node& node, const std::string& why) {
  return Status(Code::kUnsupported, place_of(graph, node) + " " + why);
}

// How many of the ascending indices lie before this one: its number among them.
int64_t rank_of(std::span<const int64_t> indices, int64_t index) {
  return std::ranges::lower_bound(indices, index) - indices.begin();
}

// The box in the numbers of what is left.
Region renumbered(const Region& box, const Remainder::Axes& left) {
  Region fresh = box;
  for (size_t d = 0; d < left.size(); ++d) {
    fresh.begin[d] = rank_of(left[d], box.begin[d]);
    fresh.end[d] = rank_of(left[d], box.end[d]);
  }
  return fresh;
}

// Empty boxes are alike wherever they lie.
bool same_box(const Region& a, const Region& b) {
  return a == b || (a.shape().count() == 0 && b.shape().count() == 0);
}

bool contains(const Region& box, const Region& part) {
  if (part.shape().count() == 0) return true;
  for (size_t d = 0; d < box.begin.rank(); ++d) {
    if (part.begin[d] < box.begin[d] || part.end[d] > box.end[d]) return false;
  }
  return true;
}

bool same_elements(const Tensor& a, const Tensor& b) {
  return a.type() == b.type() && std::ranges::equal(a.bytes(), b.bytes());
}

// Whether two tiles have the same settings, which an operator without `shrink` must give them.
bool same_settings(const Tile& a, const Tile& b) {
  const auto same_constant = [](const auto& x, const auto& y) {
    return x.first == y.first && same_elements(x.second, y.second);
  };
  const auto same_attribute = [](const auto& x, const auto& y) {
    return x.first == y.first && to_text(x.second) == to_text(y.second);
  };
  return std::ranges::equal(a.constants, b.constants, same_constant) &&
         std::ranges::equal(a.attributes, b.attributes, same_attribute);
}

}  // namespace

std::optional<SingleOutput> single_output(const Node& node, std::span<const Operand> operands,
                                          std::span<const TensorType> types,
                                          const std::vector<bool>& needed, size_t output) {
  if (node.op->split == nullptr || types[output].shape.count() == 0) return std::nullopt;
  if (node.op == &ops::split_) return as_slice(node, operands, types, output);
  if (output > 0 || std::ranges::count(needed, true) > 1) return std::nullopt;
  SingleOutput single{node, {operands.begin(), operands.end()}, types[0], {}};
  single.node.outputs.resize(1);  // unread outputs must not keep others from being split
  return single;
}

std::string reason_not_asked(const Node& node) {
  return node.op->split == nullptr ? "cannot be split" : "has several outputs";
}

std::optional<Tile> slab_of(const SingleOutput& output, size_t axis, int64_t index) {
  return output.node.op->split(output.node, output.operands, slab(output.type.shape, axis, index));
}

std::optional<Tile> whole_of(const SingleOutput& output) {
  return output.node.op->split(output.node, output.operands, Region::whole(output.type.shape));
}

std::optional<ProductBlocks> product_blocks_of(const SingleOutput& output) {
  if (!output.node.op->linear || output.operands.size() < 2) return std::nullopt;
  if (const auto along = ops::contraction_of(output.node, output.operands)) {
    return ProductBlocks{along->axis, along->weight_axis, 0, {{0, 0, along->length, {}}}};
  }
  for (size_t axis = 0; axis < output.type.shape.rank(); ++axis) {
    if (output.type.shape[axis] < 2) continue;
    if (auto products = blocks_along(output, axis)) return products;
  }
  return std::nullopt;
}

std::optional<ProductBlocks> product_blocks_of(const Graph& graph, const Node& node) {
  const std::vector<bool> needed(node.outputs.size(), true);
  const auto output =
      single_output(node, graph.operands(node.inputs), graph.types(node.outputs), needed, 0);
  return output ? product_blocks_of(*output) : std::nullopt;
}

std::vector<bool> values_needed(const Graph& graph) {
  std::vector<bool> needed(graph.value_count());
  for (const Node& node : graph.nodes()) {
    for (ValueId id : node.inputs) {
      if (id != kNoValue) needed[static_cast<size_t>(id)] = true;
    }
  }
  for (ValueId id : graph.outputs()) needed[static_cast<size_t>(id)] = true;
  return needed;
}

Narrowing::Narrowing(const Graph& graph)
    : graph_(graph), needed_(values_needed(graph)), gone_(graph.value_count()) {}

void Narrowing::drop(const Unit& unit) {
  for (const Cell& cell : unit.cells) {
    auto& axes = gone_[static_cast<size_t>(cell.value)];
    if (axes.empty()) {
      for (int64_t dim : graph_[cell.value].type.shape) axes.emplace_back(static_cast<size_t>(dim));
    }
    axes[cell.axis][static_cast<size_t>(cell.index)] = true;
  }
}

bool Narrowing::touches(ValueId id) const {
  return id != kNoValue && !gone_[static_cast<size_t>(id)].empty();
}

bool Narrowing::touches(const Node& node) const {
  const auto touched = [&](ValueId id) { return touches(id); };
  return std::ranges::any_of(node.inputs, touched) || std::ranges::any_of(node.outputs, touched);
}

Remainder::Axes Narrowing::left(ValueId id) const {
  Remainder::Axes axes;
  if (id == kNoValue) return axes;
  const auto& gone = gone_[static_cast<size_t>(id)];
  const Shape& shape = graph_[id].type.shape;
  for (size_t d = 0; d < shape.rank(); ++d) {
    axes.emplace_back();
    for (int64_t i = 0; i < shape[d]; ++i) {
      if (gone.empty() || !gone[d][static_cast<size_t>(i)]) axes.back().push_back(i);
    }
  }
  return axes;
}

Shape Narrowing::shape(ValueId id) const {
  Shape shape = graph_[id].type.shape;
  const auto& gone = gone_[static_cast<size_t>(id)];
  for (size_t d = 0; d < gone.size(); ++d) shape[d] -= std::ranges::count(gone[d], true);
  return shape;
}

Result<NarrowNode> Narrowing::narrow(const Node& node) const {
  const std::vector<Operand> operands = graph_.operands(node.inputs);
  NarrowNode result{node, {}, operands, graph_.types(node.outputs), {}};
  if (!touches(node)) return result;
  Remainder rest;
  for (ValueId id : node.inputs) rest.inputs.push_back(left(id));
  for (ValueId id : node.outputs) rest.outputs.push_back(left(id));
  if (node.op->shrink != nullptr) {
    auto settings = node.op->shrink(node, operands, rest);
    if (!settings) return refused(graph_, node, "has no settings for what is left");
    result.node.attributes = std::move(settings->attributes);
    result.constants = std::move(settings->constants);
  }
  result.owned.reserve(result.operands.size());  // operands point to its elements
  for (size_t i = 0; i < result.operands.size(); ++i) {
    Operand& operand = result.operands[i];
    if (!operand.given || !touches(node.inputs[i])) continue;
    operand.type.shape = shape(node.inputs[i]);
    // Indices that are constants tell `split` what is read; weights do not.
    const bool tells = operand.value != nullptr && Indices::contains(operand.type.dtype);
    if (tells) result.owned.push_back(take(*operand.value, rest.inputs[i]));
    operand.value = tells ? &result.owned.back() : nullptr;
  }
  for (const auto& [input, tensor] : result.constants) {
    if (input >= result.operands.size()) {
      result.operands.resize(input + 1);
      result.node.inputs.resize(input + 1, kNoValue);
    }
    result.operands[input] = {true, tensor.type(), &tensor};
  }
  SHOAL_ASSIGN(std::vector<TensorType> types, infer(result.node, result.operands));
  for (size_t i = 0; i < types.size(); ++i) {
    if (!needed_[static_cast<size_t>(node.outputs[i])]) continue;
    if (types[i].shape == shape(node.outputs[i])) continue;
    return refused(
        graph_, node,
        "would give " + to_string(types[i].shape) + ", not " + to_string(shape(node.outputs[i])));
  }
  result.types = std::move(types);
  return result;
}

Status Narrowing::check_reads(const Node& node, const NarrowNode& smaller) const {
  if (!touches(node)) return {};
  for (size_t i = 0; i < node.outputs.size(); ++i) {
    if (needed_[static_cast<size_t>(node.outputs[i])]) SHOAL_TRY(check_reads(node, smaller, i));
  }
  return {};
}

// All axes are compared, not only those that lose indices: what is left of an input may be read at
// other places though its output has lost nothing.
Status Narrowing::check_reads(const Node& node, const NarrowNode& smaller, size_t output) const {
  std::vector<bool> needed;
  for (ValueId id : node.outputs) needed.push_back(needed_[static_cast<size_t>(id)]);
  const std::vector<TensorType> types = graph_.types(node.outputs);
  const auto before = single_output(node, graph_.operands(node.inputs), types, needed, output);
  const auto after = single_output(smaller.node, smaller.operands, smaller.types, needed, output);
  if (!before || !after) return refused(graph_, node, reason_not_asked(node));
  std::vector<Remainder::Axes> read;
  for (ValueId id : node.inputs) read.push_back(left(id));
  const Remainder::Axes written = left(node.outputs[output]);
  // Where other axes have lost indices, too, a slab may read a smaller box.
  const auto others_lost = [&](size_t axis) {
    for (size_t d = 0; d < written.size(); ++d) {
      if (d != axis && std::ssize(written[d]) != types[output].shape[d]) return true;
    }
    return false;
  };
  const auto same = [&](const std::optional<Tile>& was, const std::optional<Tile>& is, bool fewer) {
    if (!was && !is) return true;  // an axis that cannot be split has lost nothing
    if (!was || !is) return false;
    // Fewer indices can be cut more finely: a Flatten of one channel cuts its rows.
    const Region box = renumbered(was->output, written);
    const bool finer = is->output != box;
    if (finer && !contains(box, is->output)) return false;
    if (node.op->shrink == nullptr && !finer && !same_settings(*was, *is)) return false;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i] == kNoValue || node.op->reads_value(i)) continue;
      const Region input = renumbered(was->inputs[i], read[i]);
      const bool fine =
          finer || fewer ? contains(input, is->inputs[i]) : same_box(input, is->inputs[i]);
      if (!fine) return false;
    }
    return true;
  };
  for (size_t axis = 0; axis < written.size(); ++axis) {
    const bool fewer = others_lost(axis);
    for (size_t i = 0; i < written[axis].size(); ++i) {
      if (same(slab_of(*before, axis, written[axis][i]),
               slab_of(*after, axis, static_cast<int64_t>(i)), fewer)) {
        continue;
      }
      return refused(graph_, node, "would read other indices along axis " + std::to_string(axis));
    }
  }
  return {};
}

Result<Size> Narrowing::size() const {
  Size size;
  std::vector<bool> counted(graph_.value_count()), learned(graph_.value_count());
  for (const Node& node : graph_.nodes()) {
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      if (node.inputs[i] == kNoValue || !graph_[node.inputs[i]].constant) continue;
      const auto id = static_cast<size_t>(node.inputs[i]);
      const TensorType type{graph_[node.inputs[i]].type.dtype, shape(node.inputs[i])};
      if (!counted[id]) size.bytes += static_cast<int64_t>(type.bytes());
      counted[id] = true;
      if (learned[id] || !is_parameter(graph_, node, i)) continue;
      learned[id] = true;
      size.parameters += type.shape.count();
    }
    if (node.op->macs == nullptr) continue;
    SHOAL_ASSIGN(const NarrowNode smaller, narrow(node));
    size.macs += node.op->macs(smaller.node, smaller.operands, smaller.types);
  }
  return size;
}

}  // namespace shoal::compress
