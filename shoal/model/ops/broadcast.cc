// Broadcasting by NumPy's rule, and the strides and tiles that follow from it.
#include "shoal/model/ops/broadcast.h"

#include <algorithm>
#include <vector>

#include "shoal/model/graph/graph.h"

namespace shoal::ops {

Strides strides_of(const Shape& shape) {
  Strides strides = shape;
  int64_t step = 1;
  for (size_t d = shape.rank(); d-- > 0;) {
    strides[d] = step;
    step *= shape[d];
  }
  return strides;
}

Result<Shape> broadcast(std::span<const Shape> shapes) {
  size_t rank = 0;
  for (const Shape& shape : shapes) rank = std::max(rank, shape.rank());
  Shape result = Shape::filled(rank, 1);
  for (const Shape& shape : shapes) {
    // A dimension of 0 takes the place of 1 and clashes with every other, so an empty tensor
    // broadcasts like any other and gives an empty result.
    for (size_t d = 0; d < shape.rank(); ++d) {
      int64_t& dim = result[rank - shape.rank() + d];
      if (dim == 1) dim = shape[d];
      if (shape[d] != dim && shape[d] != 1) {
        return invalid("shapes " + to_string(shapes[0]) + " and " + to_string(shape) +
                       " do not broadcast");
      }
    }
  }
  return result;
}

Result<Shape> broadcast(std::span<const Operand> operands) {
  std::vector<Shape> shapes;
  for (const Operand& operand : operands) {
    if (operand.given) shapes.push_back(operand.type.shape);
  }
  return broadcast(shapes);
}

// A dimension of 1 gets stride 0 even where it does not stretch: its only index is 0 then.
Strides broadcast_strides(const Shape& from, const Shape& to) {
  const Strides own = strides_of(from);
  Strides strides = Shape::filled(to.rank(), 0);
  const size_t shift = to.rank() - from.rank();
  for (size_t d = 0; d < from.rank(); ++d) strides[d + shift] = from[d] == 1 ? 0 : own[d];
  return strides;
}

Region broadcast_region(const Shape& from, const Region& output) {
  Region region = Region::whole(from);
  const size_t shift = output.begin.rank() - from.rank();
  for (size_t d = 0; d < from.rank(); ++d) {
    // The one element of a stretched axis is read by every tile.
    if (from[d] == 1) continue;
    region.begin[d] = output.begin[d + shift];
    region.end[d] = output.end[d + shift];
  }
  return region;
}

// Positions outside the tile do not matter to an element-wise node, so there is no halo and the
// attributes are unchanged.
std::optional<Tile> split_elementwise(const Node& node, std::span<const Operand> inputs,
                                      const Region& output) {
  Tile tile{{}, output, node.attributes, {}};
  for (const Operand& input : inputs) {
    tile.inputs.push_back(input.given ? broadcast_region(input.type.shape, output) : Region{});
  }
  return tile;
}

}  // namespace shoal::ops
