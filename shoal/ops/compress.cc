// Compress: the slices along `axis`, or without it the elements, whose condition is true.
#include "shoal/graph/graph.h"
#include "shoal/ops/copy.h"
#include "shoal/ops/record.h"
#include "shoal/ops/require.h"

namespace shoal::ops {
namespace {

// The input as [outer, length, inner], chosen from along its length.
struct Layout {
  int64_t outer, length, inner;
};

Layout layout_of(const Node& node, const Shape& shape) {
  if (!node.has("axis")) return {1, shape.count(), 1};
  const size_t axis = axis_in(node.integer("axis", 0), shape.rank());
  return {shape.count(0, axis), shape[axis], shape.count(axis + 1, shape.rank())};
}

std::vector<int64_t> chosen_by(const Tensor& condition) {
  std::vector<int64_t> chosen;
  int64_t k = 0;
  for (bool take : condition.data<bool>()) {
    if (take) chosen.push_back(k);
    ++k;
  }
  return chosen;
}

Result<std::vector<TensorType>> infer(const Node& node, std::span<const Operand> inputs) {
  const auto& [dtype, from] = inputs[0].type;
  SHOAL_TRY(require<Types<bool>>(inputs[1]));
  SHOAL_TRY(require_rank(inputs[1], 1));
  if (node.has("axis")) {
    SHOAL_TRY(require_axis(node.integer("axis", 0), from.rank()).status());
  }
  const std::vector<int64_t> chosen = chosen_by(*inputs[1].value);
  if (!chosen.empty() && chosen.back() >= layout_of(node, from).length) {
    return invalid("the condition chooses element " + std::to_string(chosen.back()) +
                   ", which is not there");
  }
  Shape shape = node.has("axis") ? from : Shape{0};
  shape[axis_in(node.integer("axis", 0), shape.rank())] = std::ssize(chosen);
  return std::vector{TensorType{dtype, shape}};
}

void reference(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  if (outputs[0].count() == 0) return;
  const auto [outer, length, inner] = layout_of(node, inputs[0].shape());
  const std::vector<int64_t> chosen = chosen_by(inputs[1]);
  const size_t bytes = static_cast<size_t>(inner) * size_of(inputs[0].dtype());
  std::byte* to = outputs[0].bytes().data();
  for (int64_t o = 0; o < outer; ++o) {
    for (int64_t k : chosen) {
      const auto from = static_cast<size_t>(o * length + k);
      std::memcpy(to, inputs[0].bytes().data() + from * bytes, bytes);
      to += bytes;
    }
  }
}

std::optional<Tile> split(const Node& node, std::span<const Operand> inputs, const Region& output) {
  if (!node.has("axis")) return std::nullopt;
  const Shape& shape = inputs[0].type.shape;
  const size_t axis = axis_in(node.integer("axis", 0), shape.rank());
  Region read = output, written = output;
  read.begin[axis] = written.begin[axis] = 0;
  read.end[axis] = shape[axis];
  written.end[axis] = std::ssize(chosen_by(*inputs[1].value));
  return Tile{{read, Region::whole(inputs[1].type.shape)}, written, node.attributes, {}};
}

}  // namespace

SHOAL_RECORD(compress) = {.name = "Compress",
                          .min_inputs = 2,
                          .max_inputs = 2,
                          .value_inputs = 1 << 1,
                          .infer = infer,
                          .reference = reference,
                          .split = split,
                          .linear = true};

}  // namespace shoal::ops
