// Operators that give the same elements another shape: Reshape, Flatten, Squeeze, Unsqueeze. They
// copy, or do nothing at all where the device runs them in place. Their gradient is a Reshape.
#include <algorithm>
#include <numeric>

#include "shoal/base/checked.h"
#include "shoal/model/graph/graph.h"
#include "shoal/model/ops/copy.h"
#include "shoal/model/ops/gradient.h"
#include "shoal/model/ops/record.h"
#include "shoal/model/ops/require.h"

namespace shoal::ops {
namespace {

void reference_reshape(const Node&, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  copy_all(inputs[0], outputs[0]);
}

Result<std::vector<TensorType>> same_elements(const Operand& input, const Shape& shape) {
  return std::vector{TensorType{input.type.dtype, shape}};
}

// --- Reshape: a dimension 0 is copied from the input, unless `allowzero` is set, and one -1 takes
// the remaining elements.

Result<Shape> target_shape(const Node& node, std::span<const Operand> inputs) {
  const Shape& from = inputs[0].type.shape;
  SHOAL_ASSIGN(std::vector<int64_t> dims, require_list(inputs[1]));
  if (dims.size() > Shape::kMaxRank) return invalid("more than 8 dimensions");
  const bool copies_zeros = node.integer("allowzero", 0) == 0;
  Checked known = 1;
  int64_t* open = nullptr;
  for (size_t d = 0; d < dims.size(); ++d) {
    if (dims[d] == 0 && copies_zeros) {
      if (d >= from.rank()) return invalid("copies a dimension that the input does not have");
      dims[d] = from[d];
    }
    if (dims[d] < -1) return invalid("dimension " + std::to_string(dims[d]) + " is negative");
    if (dims[d] == -1 && open != nullptr) return invalid("more than one dimension is -1");
    if (dims[d] == -1) {
      open = &dims[d];
    } else {
      known = known * dims[d];
    }
  }
  const int64_t count = from.count();
  // With a dimension of 0, -1 would be 0 / 0. It stays -1 and is refused below.
  if (open != nullptr && known.ok() && known.value() != 0) {
    *open = count / known.value();
    known = known * *open;
  }
  if (!known.ok() || known.value() != count || std::ranges::count(dims, -1) > 0) {
    return invalid("cannot give " + to_string(from) + " the shape " + to_string(Shape(dims)));
  }
  return Shape(dims);
}

Result<std::vector<TensorType>> infer_reshape(const Node& node, std::span<const Operand> inputs) {
  SHOAL_ASSIGN(Shape shape, target_shape(node, inputs));
  return same_elements(inputs[0], shape);
}

struct AxisRange {
  size_t begin = 0, end = 0;
};

// The first axis that is longer than 1, or the last: the only one that a block can be cut along.
size_t outermost(const Shape& shape, AxisRange axes) {
  size_t axis = axes.begin;
  while (axis + 1 < axes.end && shape[axis] == 1) ++axis;
  return axis;
}

// Axes [8, 32] of one shape are axis [256] of the other, so a run of elements of one is a run of
// elements of the other. Restricts both to the shortest run that holds the region asked for and
// consists of whole steps along the outermost axes of either.
void split_block(const Shape& from, AxisRange from_axes, const Shape& to, AxisRange to_axes,
                 const Region& output, Region& read, Region& written) {
  const size_t in = outermost(from, from_axes), out = outermost(to, to_axes);
  const int64_t in_step = from.count(in + 1, from_axes.end);
  const int64_t out_step = to.count(out + 1, to_axes.end);
  const int64_t step = std::lcm(in_step, out_step), all = to[out] * out_step;
  const int64_t begin = output.begin[out] * out_step / step * step;
  const int64_t end = std::min(all, (output.end[out] * out_step + step - 1) / step * step);
  read.begin[in] = begin / in_step;
  read.end[in] = end / in_step;
  written.begin[out] = begin / out_step;
  written.end[out] = end / out_step;
}

// Pairs up blocks of axes: the shortest ranges of axes that have as many elements in both shapes.
// Blocks are cut separately. REQUIRES: the shapes have at least one element, or the counts would
// never meet.
Tile split_blocks(const Node& node, std::span<const Operand> inputs, const Shape& to,
                  const Region& output) {
  const Shape& from = inputs[0].type.shape;
  Region read = Region::whole(from), written = Region::whole(to);
  AxisRange in, out;
  while (in.end < from.rank() && out.end < to.rank()) {
    int64_t in_count = from[in.end++], out_count = to[out.end++];
    while (in_count != out_count) {
      if (in_count < out_count) {
        in_count *= from[in.end++];
      } else {
        out_count *= to[out.end++];
      }
    }
    split_block(from, in, to, out, output, read, written);
    in.begin = in.end;
    out.begin = out.end;
  }
  return Tile{{read}, written, node.attributes, {}};
}

std::optional<Tile> split_reshape(const Node& node, std::span<const Operand> inputs,
                                  const Region& output) {
  const Shape shape = *target_shape(node, inputs);
  if (shape.count() == 0) return std::nullopt;
  Tile tile = split_blocks(node, inputs, shape, output);
  tile.inputs.push_back(Region::whole(inputs[1].type.shape));
  tile.constants[1] = list_of(tile.output.shape());
  return tile;
}

// Dimensions that are named get the new number; 0 and -1 follow the input.
std::optional<Settings> shrink_reshape(const Node& node, std::span<const Operand> inputs,
                                       const Remainder& left) {
  std::vector<int64_t> dims = *require_list(inputs[1]);
  for (size_t d = 0; d < dims.size(); ++d) {
    if (dims[d] > 0) dims[d] = std::ssize(left.outputs[0][d]);
  }
  Settings settings{node.attributes, {}};
  if (dims != *require_list(inputs[1])) settings.constants[1] = list_like(inputs[1], dims);
  return settings;
}

// --- Flatten: the axes before `axis` become the first dimension, the others the second.

Shape flat_shape(const Node& node, const Shape& from) {
  const size_t axis = axis_in(node.integer("axis", 1), from.rank());
  return {from.count(0, axis), from.count(axis, from.rank())};
}

Result<std::vector<TensorType>> infer_flatten(const Node& node, std::span<const Operand> inputs) {
  const Shape& from = inputs[0].type.shape;
  const int64_t axis = node.integer("axis", 1);
  // The one operator where `axis` may be the rank itself: all axes are flattened into the first
  // dimension.
  if (axis != static_cast<int64_t>(from.rank())) {
    SHOAL_TRY(require_axis(axis, from.rank()).status());
  }
  return same_elements(inputs[0], flat_shape(node, from));
}

std::optional<Tile> split_flatten(const Node& node, std::span<const Operand> inputs,
                                  const Region& output) {
  const Shape shape = flat_shape(node, inputs[0].type.shape);
  if (shape.count() == 0) return std::nullopt;
  return split_blocks(node, inputs, shape, output);
}

// --- Squeeze removes axes of size 1, all of them where none are named; Unsqueeze inserts them.

Result<std::vector<size_t>> squeezed_axes(std::span<const Operand> inputs) {
  const Shape& from = inputs[0].type.shape;
  if (inputs.size() > 1 && inputs[1].given) {
    SHOAL_ASSIGN(std::vector<int64_t> axes, require_list(inputs[1]));
    return require_axes(axes, from.rank());
  }
  std::vector<size_t> axes;
  for (size_t d = 0; d < from.rank(); ++d) {
    if (from[d] == 1) axes.push_back(d);
  }
  return axes;
}

Shape without(const Shape& shape, std::span<const size_t> axes) {
  Shape rest;
  for (size_t d = 0; d < shape.rank(); ++d) {
    if (!std::ranges::binary_search(axes, d)) rest.push_back(shape[d]);
  }
  return rest;
}

// Shape `rest` with `dim` at each of `axes`, which are axes of the result.
Shape with(const Shape& rest, std::span<const size_t> axes, int64_t dim) {
  Shape shape;
  size_t next = 0;
  for (size_t d = 0; d < rest.rank() + axes.size(); ++d) {
    shape.push_back(std::ranges::binary_search(axes, d) ? dim : rest[next++]);
  }
  return shape;
}

Result<std::vector<TensorType>> infer_squeeze(const Node&, std::span<const Operand> inputs) {
  const Shape& from = inputs[0].type.shape;
  SHOAL_ASSIGN(std::vector<size_t> axes, squeezed_axes(inputs));
  for (size_t axis : axes) {
    if (from[axis] != 1) {
      return invalid("axis " + std::to_string(axis) + " of " + to_string(from) + " is not 1");
    }
  }
  return same_elements(inputs[0], without(from, axes));
}

std::optional<Tile> split_squeeze(const Node& node, std::span<const Operand> inputs,
                                  const Region& output) {
  const std::vector<size_t> axes = *squeezed_axes(inputs);
  const bool named = inputs.size() > 1 && inputs[1].given;
  // Without a list, a tile that is one element wide would lose that axis as well.
  if (!named && std::ranges::count(output.shape(), 1) > 0) return std::nullopt;
  Tile tile{
      {{with(output.begin, axes, 0), with(output.end, axes, 1)}}, output, node.attributes, {}};
  if (inputs.size() > 1) tile.inputs.push_back(Region::whole(inputs[1].type.shape));
  return tile;
}

// The axes are those of the output. Its rank is checked first: the list comes from a file.
Result<std::vector<size_t>> inserted_axes(std::span<const Operand> inputs) {
  SHOAL_ASSIGN(std::vector<int64_t> axes, require_list(inputs[1]));
  const size_t rank = inputs[0].type.shape.rank() + axes.size();
  if (rank > Shape::kMaxRank) return invalid("more than 8 dimensions");
  return require_axes(axes, rank);
}

Result<std::vector<TensorType>> infer_unsqueeze(const Node&, std::span<const Operand> inputs) {
  SHOAL_ASSIGN(std::vector<size_t> axes, inserted_axes(inputs));
  return same_elements(inputs[0], with(inputs[0].type.shape, axes, 1));
}

std::optional<Tile> split_unsqueeze(const Node& node, std::span<const Operand> inputs,
                                    const Region& output) {
  const std::vector<size_t> axes = *inserted_axes(inputs);
  return Tile{{{without(output.begin, axes), without(output.end, axes)},
               Region::whole(inputs[1].type.shape)},
              output,
              node.attributes,
              {}};
}

}  // namespace

SHOAL_RECORD(reshape) = {.name = "Reshape",
                         .min_inputs = 2,
                         .max_inputs = 2,
                         .value_inputs = 1 << 1,
                         .infer = infer_reshape,
                         .reference = reference_reshape,
                         .split = split_reshape,
                         .shrink = shrink_reshape,
                         .linear = true,
                         .in_place = true,
                         .linear_time = true,
                         .gradient = reshape_gradient};

SHOAL_RECORD(flatten) = {.name = "Flatten",
                         .infer = infer_flatten,
                         .reference = reference_reshape,
                         .split = split_flatten,
                         .linear = true,
                         .in_place = true,
                         .linear_time = true,
                         .gradient = reshape_gradient};

SHOAL_RECORD(squeeze) = {.name = "Squeeze",
                         .max_inputs = 2,
                         .value_inputs = 1 << 1,
                         .infer = infer_squeeze,
                         .reference = reference_reshape,
                         .split = split_squeeze,
                         .linear = true,
                         .in_place = true,
                         .linear_time = true,
                         .gradient = reshape_gradient};

SHOAL_RECORD(unsqueeze) = {.name = "Unsqueeze",
                           .min_inputs = 2,
                           .max_inputs = 2,
                           .value_inputs = 1 << 1,
                           .infer = infer_unsqueeze,
                           .reference = reference_reshape,
                           .split = split_unsqueeze,
                           .linear = true,
                           .in_place = true,
                           .linear_time = true,
                           .gradient = reshape_gradient};

}  // namespace shoal::ops
