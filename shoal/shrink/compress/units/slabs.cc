// Questions to `split`. A plain product has an axis that every element of its output reads whole
// (model/ops/contraction.h). In a grouped one every output channel reads a block of channels; its
// slab is a plain product again, and the slabs tell the blocks.
#include "shoal/shrink/compress/units/slabs.h"

#include <algorithm>

#include "shoal/model/ops/contraction.h"
#include "shoal/model/ops/ops.h"
#include "shoal/model/ops/require.h"

namespace shoal::compress {
namespace {

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

// The blocks that the slabs along one axis of the output read; nothing if they are no products, or
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

}  // namespace

std::optional<SingleOutput> single_output(const Node& node, std::span<const Operand> operands,
                                          std::span<const TensorType> types,
                                          const std::vector<bool>& needed, size_t output) {
  if (node.op->split == nullptr || types[output].shape.count() == 0) return std::nullopt;
  if (node.op == &ops::split_) return as_slice(node, operands, types, output);
  if (output > 0 || std::ranges::count(needed, true) > 1) return std::nullopt;
  SingleOutput single{node, {operands.begin(), operands.end()}, types[0], {}};
  single.node.outputs.resize(1);  // outputs that nobody reads must not keep others from being split
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

}  // namespace shoal::compress
