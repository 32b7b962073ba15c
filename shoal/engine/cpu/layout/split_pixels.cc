#include "shoal/engine/cpu/layout/split_pixels.h"

namespace shoal::cpu {

Region of_all_channels(const Region& region, const Shape& shape) {
  Region all = Region::whole(shape);
  for (const size_t axis : {size_t{0}, size_t{2}, size_t{3}}) {
    all.begin[axis] = region.begin[axis];
    all.end[axis] = region.end[axis];
  }
  return all;
}

std::optional<Tile> split_pixels(const Node& node, std::span<const Operand> inputs,
                                 const Region& output) {
  const TensorType type = (*node.op->infer(node, inputs))[0];
  if (of_all_channels(output, type.shape) != output) return std::nullopt;
  Tile tile{.inputs = {}, .output = output, .attributes = node.attributes, .constants = {}};
  for (const Operand& input : inputs) {
    tile.inputs.push_back(of_all_channels(output, input.type.shape));
  }
  return tile;
}

}  // namespace shoal::cpu
