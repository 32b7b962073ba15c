#include "shoal/model/ops/product/matrix_product.h"

#include <algorithm>

#include "shoal/base/checked.h"

namespace shoal::ops {
namespace {

Shape batch_of(const Shape& matrices) {
  return Shape(std::span(matrices).first(matrices.rank() - 2));
}

// The strides of a batch, in matrices, along the batch axes of the output.
Strides batch_strides(const Shape& matrices, const Shape& batch) {
  return broadcast_strides(batch_of(matrices), batch);
}

// The part of stacked matrices that a box of the output's batch reads, with all rows and columns.
Region batch_region(const Shape& matrices, const Region& output, size_t batch_rank) {
  const Region box{Shape(std::span(output.begin).first(batch_rank)),
                   Shape(std::span(output.end).first(batch_rank))};
  const Region batch = broadcast_region(batch_of(matrices), box);
  Region region = Region::whole(matrices);
  std::ranges::copy(batch.begin, region.begin.begin());
  std::ranges::copy(batch.end, region.end.begin());
  return region;
}

Shape without_axis(const Shape& shape, size_t axis) {
  Shape rest;
  for (size_t d = 0; d < shape.rank(); ++d) {
    if (d != axis) rest.push_back(shape[d]);
  }
  return rest;
}

Region without_axis(const Region& region, size_t axis) {
  return {without_axis(region.begin, axis), without_axis(region.end, axis)};
}

}  // namespace

Result<MatMulSizes> require_matmul(const Shape& a, const Shape& b) {
  if (a.rank() == 0 || b.rank() == 0) return invalid("a scalar is not a matrix");
  // A vector gets the axis that it lacks here, and `output` leaves it out again.
  MatMulSizes sizes;
  sizes.a_shape = a.rank() > 1 ? a : Shape{1, a[0]};
  sizes.b_shape = b.rank() > 1 ? b : Shape{b[0], 1};
  sizes.m = sizes.a_shape[sizes.a_shape.rank() - 2];
  sizes.k = sizes.a_shape[sizes.a_shape.rank() - 1];
  sizes.n = sizes.b_shape[sizes.b_shape.rank() - 1];
  if (sizes.k != sizes.b_shape[sizes.b_shape.rank() - 2]) {
    return invalid("matrices " + to_string(a) + " and " + to_string(b) + " do not multiply");
  }
  SHOAL_ASSIGN(sizes.batch,
               broadcast(std::array{batch_of(sizes.a_shape), batch_of(sizes.b_shape)}));
  sizes.a = batch_strides(sizes.a_shape, sizes.batch);
  sizes.b = batch_strides(sizes.b_shape, sizes.batch);
  sizes.output = sizes.batch;
  if (a.rank() > 1) sizes.output.push_back(sizes.m);
  if (b.rank() > 1) sizes.output.push_back(sizes.n);
  return sizes;
}

MatMulSizes matmul_sizes(const Shape& a, const Shape& b) {
  auto sizes = require_matmul(a, b);
  SHOAL_CHECK(sizes.ok());
  return *std::move(sizes);
}

// The sum over k is what macs count; output.count() is bounded by check(), the product is not.
int64_t count_macs(const MatMulSizes& sizes) {
  return (Checked(sizes.output.count()) * sizes.k).value();
}

MatMulTile split_matmul(const Shape& a, const Shape& b, const Region& output) {
  const MatMulSizes sizes = matmul_sizes(a, b);
  MatMulTile tile{batch_region(sizes.a_shape, output, sizes.batch.rank()),
                  batch_region(sizes.b_shape, output, sizes.batch.rank())};
  const size_t row = sizes.a_shape.rank() - 2, column = sizes.b_shape.rank() - 1;
  const size_t rank = output.begin.rank();
  if (a.rank() > 1) {
    tile.a.begin[row] = output.begin[sizes.batch.rank()];
    tile.a.end[row] = output.end[sizes.batch.rank()];
  } else {
    tile.a = without_axis(tile.a, row);
  }
  if (b.rank() > 1) {
    tile.b.begin[column] = output.begin[rank - 1];
    tile.b.end[column] = output.end[rank - 1];
  } else {
    tile.b = without_axis(tile.b, column);
  }
  return tile;
}

}  // namespace shoal::ops
