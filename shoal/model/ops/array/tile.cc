// Tile: y[i] = x[i mod n] along every axis. A repeat of 0 gives an empty tensor. The gradient adds
// up the copies, by permutation_gradient().
#include <algorithm>

#include "shoal/base/checked.h"
#include "shoal/model/graph/graph.h"
#include "shoal/model/ops/copy.h"
#include "shoal/model/ops/gradient.h"
#include "shoal/model/ops/record.h"
#include "shoal/model/ops/require.h"

namespace shoal::ops {
namespace {

Result<std::vector<TensorType>> infer_tile(const Node&, std::span<const Operand> inputs) {
  TensorType type = inputs[0].type;
  SHOAL_ASSIGN(std::vector<int64_t> repeats, require_list(inputs[1]));
  if (repeats.size() != type.shape.rank()) {
    return invalid(std::to_string(repeats.size()) + " repeats for rank " +
                   std::to_string(type.shape.rank()));
  }
  for (size_t d = 0; d < repeats.size(); ++d) {
    if (repeats[d] < 0) return invalid("repeats " + std::to_string(repeats[d]) + " times");
    // The product comes from a file. An overflow compares as the largest integer and is refused
    // with the type.
    type.shape[d] = (Checked(type.shape[d]) * repeats[d]).value();
  }
  return std::vector{type};
}

void reference_tile(const Node&, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  if (outputs[0].count() == 0) return;
  const Shape& from = inputs[0].shape();
  const std::vector<int64_t> repeats = to_ints(inputs[1]);
  ExtendedCopy copy(size_of(inputs[0].dtype()), from, outputs[0].shape());
  while (copy.rest > 0 && repeats[copy.rest - 1] == 1) --copy.rest;
  // Writes one copy of the axis, then copies that copy.
  const auto kept = [&](size_t axis) { return ExtendedCopy::Kept{.count = from[axis]}; };
  const auto extend = [&](size_t axis, std::byte* y, size_t step) {
    const size_t bytes = static_cast<size_t>(from[axis]) * step;
    for (size_t r = 1; r < static_cast<size_t>(repeats[axis]); ++r) {
      std::memcpy(y + r * bytes, y, bytes);
    }
  };
  copy.run(0, inputs[0].bytes().data(), outputs[0].bytes().data(), kept, extend);
}

// Along each axis the tile is a part of one copy, or else as many whole copies as the region
// touches.
std::optional<Tile> split_tile(const Node& node, std::span<const Operand> inputs,
                               const Region& output) {
  const Shape& from = inputs[0].type.shape;
  Region read = Region::whole(from), written = output;
  std::vector<int64_t> repeats;
  for (size_t d = 0; d < from.rank(); ++d) {
    const int64_t first = output.begin[d] / from[d], last = (output.end[d] - 1) / from[d];
    if (first == last) {
      read.begin[d] = output.begin[d] - first * from[d];
      read.end[d] = output.end[d] - first * from[d];
    } else {
      written.begin[d] = first * from[d];
      written.end[d] = (last + 1) * from[d];
    }
    repeats.push_back(last - first + 1);
  }
  Tile tile{{read, Region::whole(inputs[1].type.shape)}, written, node.attributes, {}};
  tile.constants[1] = list_of(repeats);
  return tile;
}

}  // namespace

SHOAL_RECORD(tile_) = {.name = "Tile",
                       .min_inputs = 2,
                       .max_inputs = 2,
                       .value_inputs = 1 << 1,
                       .infer = infer_tile,
                       .reference = reference_tile,
                       .split = split_tile,
                       .linear = true,
                       .linear_time = true,
                       .gradient = permutation_gradient};

}  // namespace shoal::ops
