// EyeLike: y[i, j] = (j - i == k), a matrix of the input's shape with ones on the k'th diagonal.
// Only the type of the input is read.
#include <algorithm>

#include "shoal/base/limits.h"
#include "shoal/model/graph/graph.h"
#include "shoal/model/ops/convert.h"
#include "shoal/model/ops/onnx_dtype.h"
#include "shoal/model/ops/record.h"
#include "shoal/model/ops/require.h"

namespace shoal::ops {
namespace {

// Every diagonal outside the largest matrix is the same, so k is clamped: sums with it cannot
// overflow then.
int64_t diagonal_of(const Node& node) {
  constexpr int64_t outside = 2 * kLimits.max_dimension;
  return std::clamp(node.integer("k", 0), -outside, outside);
}

Result<std::vector<TensorType>> infer_eye_like(const Node& node, std::span<const Operand> inputs) {
  SHOAL_TRY(require_rank(inputs[0], 2));
  if (!node.has("dtype")) return std::vector{inputs[0].type};
  SHOAL_ASSIGN(const int64_t number, require_integer(node, "dtype"));
  SHOAL_ASSIGN(const DType dtype, require_dtype(number));
  return std::vector{TensorType{dtype, inputs[0].type.shape}};
}

void reference_eye_like(const Node& node, std::span<const Tensor>, std::span<Tensor> outputs) {
  const Shape& shape = outputs[0].shape();
  const int64_t k = diagonal_of(node);
  visit<AllTypes>(outputs[0].dtype(), [&]<class T>() {
    const auto y = outputs[0].data<T>();
    std::ranges::fill(y, T{});
    const int64_t end = std::min(shape[0], shape[1] - k);
    for (int64_t row = std::max<int64_t>(0, -k); row < end; ++row) {
      y[static_cast<size_t>(row * shape[1] + row + k)] = convert<T>(1.0f);
    }
  });
}

// Element [i, j] of a tile is [i + row, j + column] of the whole, so k grows by row - column.
std::optional<Tile> split_eye_like(const Node& node, std::span<const Operand>,
                                   const Region& output) {
  Tile tile{{output}, output, node.attributes, {}};
  tile.attributes["k"] = diagonal_of(node) + output.begin[0] - output.begin[1];
  return tile;
}

}  // namespace

SHOAL_RECORD(eye_like) = {.name = "EyeLike",
                          .infer = infer_eye_like,
                          .reference = reference_eye_like,
                          .split = split_eye_like,
                          .linear_time = true,
                          .reads_types_only = true};

}  // namespace shoal::ops
