// Softmax(x)_i = exp(x_i - max x) / sum_j exp(x_j - max x), along `axis`.
#include <algorithm>
#include <cmath>

#include "shoal/graph/graph.h"
#include "shoal/ops/ops.h"
#include "shoal/ops/require.h"

namespace shoal::ops {
namespace {

size_t axis_of(const Node& node, const Shape& shape) {
  return axis_in(node.integer("axis", -1), shape.rank());
}

Result<std::vector<TensorType>> infer(const Node& node, std::span<const Operand> inputs) {
  SHOAL_TRY(require<Floats>(inputs[0]));
  SHOAL_TRY(require_axis(node.integer("axis", -1), inputs[0].type.shape.rank()).status());
  return std::vector{inputs[0].type};
}

template <class T>
void softmax_line(const T* x, T* y, int64_t n, int64_t step) {
  Compute<T> top = x[0], sum = 0;
  for (int64_t k = 0; k < n; ++k) top = std::max<Compute<T>>(top, x[k * step]);
  for (int64_t k = 0; k < n; ++k) sum += std::exp(x[k * step] - top);
  for (int64_t k = 0; k < n; ++k) y[k * step] = std::exp(x[k * step] - top) / sum;
}

void reference(const Node& node, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const Shape& shape = inputs[0].shape();  // [outer, n, inner]
  const size_t axis = axis_of(node, shape);
  const int64_t n = shape[axis];
  const int64_t outer = shape.count(0, axis), inner = shape.count(axis + 1, shape.rank());
  visit<Floats>(inputs[0].dtype(), [&]<class T>() {
    for (int64_t o = 0; o < outer; ++o) {
      for (int64_t i = 0; i < inner; ++i) {
        const int64_t at = o * n * inner + i;
        softmax_line(inputs[0].data<T>().data() + at, outputs[0].data<T>().data() + at, n, inner);
      }
    }
  });
}

// One element needs the whole line along the axis.
std::optional<Tile> split(const Node& node, std::span<const Operand> inputs, const Region& output) {
  const Shape& shape = inputs[0].type.shape;
  const size_t axis = axis_of(node, shape);
  Region line = output;
  line.begin[axis] = 0;
  line.end[axis] = shape[axis];
  return Tile{{line}, line, node.attributes, {}};
}

}  // namespace

const Operator softmax = {
    .name = "Softmax", .infer = infer, .reference = reference, .split = split};

}  // namespace shoal::ops
