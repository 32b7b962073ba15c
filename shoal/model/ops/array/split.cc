// Split: parts of the input along `axis`, of given sizes or of equal ones. The gradient is a
// Concat, with zeros for parts that nothing depends on.
#include "shoal/base/checked.h"
#include "shoal/model/graph/graph.h"
#include "shoal/model/ops/copy.h"
#include "shoal/model/ops/gradient.h"
#include "shoal/model/ops/record.h"
#include "shoal/model/ops/require.h"

namespace shoal::ops {
namespace {

// Equal parts. With `num_outputs` (opset 18) the last one may be smaller.
Result<std::vector<int64_t>> equal_sizes(const Node& node, int64_t length) {
  const auto parts = static_cast<int64_t>(node.outputs.size());
  const bool uneven = node.has("num_outputs");
  if (uneven && node.integer("num_outputs", 0) != parts) {
    return invalid("num_outputs is not the number of outputs");
  }
  const int64_t part = (length + parts - 1) / parts;
  const int64_t last = length - part * (parts - 1);
  if (last < 0 || (last != part && !uneven)) {
    return invalid("cannot split " + std::to_string(length) + " into " + std::to_string(parts) +
                   " equal parts");
  }
  std::vector<int64_t> sizes(node.outputs.size(), part);
  sizes.back() = last;
  return sizes;
}

Result<std::vector<int64_t>> given_sizes(const Node& node, const Operand& operand, int64_t length) {
  SHOAL_ASSIGN(std::vector<int64_t> sizes, require_list(operand));
  if (sizes.size() != node.outputs.size()) {
    return invalid(std::to_string(sizes.size()) + " sizes for " +
                   std::to_string(node.outputs.size()) + " outputs");
  }
  Checked sum = 0;
  for (int64_t size : sizes) {
    if (size < 0) return invalid("a size is negative");
    sum = sum + size;
  }
  if (!sum.ok() || sum.value() != length) {
    return invalid("the sizes do not add up to " + std::to_string(length));
  }
  return sizes;
}

Result<std::vector<int64_t>> sizes_of(const Node& node, std::span<const Operand> inputs,
                                      int64_t length) {
  const bool given = inputs.size() > 1 && inputs[1].given;
  return given ? given_sizes(node, inputs[1], length) : equal_sizes(node, length);
}

Result<std::vector<TensorType>> infer_split(const Node& node, std::span<const Operand> inputs) {
  const TensorType& type = inputs[0].type;
  SHOAL_ASSIGN(size_t axis, require_axis(node.integer("axis", 0), type.shape.rank()));
  SHOAL_ASSIGN(std::vector<int64_t> sizes, sizes_of(node, inputs, type.shape[axis]));
  std::vector<TensorType> types(sizes.size(), type);
  for (size_t i = 0; i < sizes.size(); ++i) types[i].shape[axis] = sizes[i];
  return types;
}

void reference_split(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const Strides strides = strides_of(inputs[0].shape());
  const size_t axis = axis_in(node.integer("axis", 0), strides.rank());
  const size_t size = size_of(inputs[0].dtype());
  const std::byte* from = inputs[0].bytes().data();
  for (Tensor& output : outputs) {
    const Shape& shape = output.shape();
    copy_strided(shape, size, {from, strides}, {output.bytes().data(), strides_of(shape)});
    from += static_cast<size_t>(shape[axis] * strides[axis]) * size;
  }
}

// Cut along the other axes only. The region is that of output 0, but a tile computes all outputs,
// and along them all are cut alike.
std::optional<Tile> split_split(const Node& node, std::span<const Operand> inputs,
                                const Region& output) {
  const Shape& from = inputs[0].type.shape;
  const size_t axis = axis_in(node.integer("axis", 0), from.rank());
  Region read = output, written = output;
  read.begin[axis] = written.begin[axis] = 0;
  read.end[axis] = from[axis];
  written.end[axis] = (*sizes_of(node, inputs, from[axis]))[0];
  Tile tile{{read}, written, node.attributes, {}};
  if (inputs.size() > 1) tile.inputs.push_back(Region::whole(inputs[1].type.shape));
  return tile;
}

// The parts have become unequal, as a rule: their sizes are listed even where they were not.
std::optional<Settings> shrink_split(const Node& node, std::span<const Operand> inputs,
                                     const Remainder& left) {
  const size_t axis = axis_in(node.integer("axis", 0), inputs[0].type.shape.rank());
  std::vector<int64_t> sizes;
  for (const Remainder::Axes& part : left.outputs) sizes.push_back(std::ssize(part[axis]));
  const bool given = inputs.size() > 1 && inputs[1].given;
  Settings settings{node.attributes, {{1, given ? list_like(inputs[1], sizes) : list_of(sizes)}}};
  settings.attributes.erase("num_outputs");
  return settings;
}

}  // namespace

SHOAL_RECORD(split_) = {.name = "Split",
                        .max_inputs = 2,
                        .max_outputs = kAnyNumber,
                        .value_inputs = 1 << 1,
                        .infer = infer_split,
                        .reference = reference_split,
                        .split = split_split,
                        .shrink = shrink_split,
                        .linear = true,
                        .linear_time = true,
                        .gradient = split_gradient};

}  // namespace shoal::ops
