// Det: the determinant of each matrix of a batch, by elimination with partial pivoting: the product
// of the pivots, with a change of sign per exchange of rows. Computed in double. A matrix [0, 0]
// has determinant 1.
#include <algorithm>
#include <cmath>
#include <vector>

#include "shoal/model/graph/graph.h"
#include "shoal/model/ops/convert.h"
#include "shoal/model/ops/record.h"
#include "shoal/model/ops/require.h"

namespace shoal::ops {
namespace {

Result<std::vector<TensorType>> infer_det(const Node&, std::span<const Operand> inputs) {
  SHOAL_TRY(require<Floats>(inputs[0]));
  const Shape& shape = inputs[0].type.shape;
  const size_t rank = shape.rank();
  if (rank < 2 || shape[rank - 1] != shape[rank - 2]) {
    return invalid("takes square matrices, got a tensor of shape " + to_string(shape));
  }
  return std::vector{TensorType{inputs[0].type.dtype, Shape(std::span(shape).first(rank - 2))}};
}

// Destroys the matrix, [n, n].
double determinant(std::span<double> matrix, size_t n) {
  double product = 1;
  const auto row = [&](size_t i) { return matrix.subspan(i * n, n); };
  for (size_t column = 0; column < n; ++column) {
    size_t pivot = column;
    for (size_t i = column + 1; i < n; ++i) {
      // The largest pivot keeps the factors below 1, so rounding errors do not grow.
      if (std::abs(row(i)[column]) > std::abs(row(pivot)[column])) pivot = i;
    }
    if (row(pivot)[column] == 0) return 0;
    if (pivot != column) {
      std::ranges::swap_ranges(row(pivot), row(column));
      product = -product;
    }
    product *= row(column)[column];
    for (size_t i = column + 1; i < n; ++i) {
      const double factor = row(i)[column] / row(column)[column];
      for (size_t j = column + 1; j < n; ++j) row(i)[j] -= factor * row(column)[j];
    }
  }
  return product;
}

void reference_det(const Node&, std::span<const Tensor> inputs, std::span<Tensor> outputs) {
  const Shape& shape = inputs[0].shape();
  const auto n = static_cast<size_t>(shape[shape.rank() - 1]);
  std::vector<double> matrix(n * n);
  visit<Floats>(inputs[0].dtype(), [&]<class T>() {
    for (size_t i = 0; i < outputs[0].data<T>().size(); ++i) {
      std::ranges::transform(inputs[0].data<T>().subspan(i * n * n, n * n), matrix.begin(),
                             convert<double, T>);
      outputs[0].data<T>()[i] = convert<T>(determinant(matrix, n));
    }
  });
}

// Matrices stay whole; batch axes are cut.
std::optional<Tile> split_det(const Node& node, std::span<const Operand> inputs,
                              const Region& output) {
  const Shape& shape = inputs[0].type.shape;
  Region matrices = Region::whole(shape);
  for (size_t d = 0; d + 2 < shape.rank(); ++d) {
    matrices.begin[d] = output.begin[d];
    matrices.end[d] = output.end[d];
  }
  return Tile{{matrices}, output, node.attributes, {}};
}

}  // namespace

SHOAL_RECORD(det) = {
    .name = "Det", .infer = infer_det, .reference = reference_det, .split = split_det};

}  // namespace shoal::ops
