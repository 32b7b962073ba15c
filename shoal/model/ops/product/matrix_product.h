// The product of stacks of matrices by NumPy's rule, [batch..., m, k] x [batch..., k, n], which
// MatMul and its quantised forms share. Batches broadcast. A vector is a row on the left and a
// column on the right, and its axis is missing from the output.
#pragma once

#include <array>
#include <cstdint>

#include "shoal/model/graph/graph.h"
#include "shoal/model/ops/broadcast.h"

namespace shoal::ops {

struct MatMulSizes {
  int64_t m = 0, k = 0, n = 0;
  Shape batch;             // of the output
  Strides a, b;            // matrices per index of a batch axis; 0 where stretched
  Shape a_shape, b_shape;  // with the axis a vector lacks
  Shape output;

  // Calls f(index in a, index in b, index in the output) for every pair of matrices to multiply.
  template <class F>
  void for_each_matrix(F f) const {
    for_each_run(batch, std::array{a, b, strides_of(batch)},
                 [&](auto at, auto step, int64_t count) {
                   for (int64_t i = 0; i < count; ++i) {
                     f(at[0] + i * step[0], at[1] + i * step[1], at[2] + i * step[2]);
                   }
                 });
  }
};

Result<MatMulSizes> require_matmul(const Shape& a, const Shape& b);
MatMulSizes matmul_sizes(const Shape& a, const Shape& b);  // REQUIRES: they are accepted

int64_t count_macs(const MatMulSizes& sizes);  // the largest int64 if it overflows

// The parts of the inputs that a box of the output reads.
struct MatMulTile {
  Region a, b;
};
MatMulTile split_matmul(const Shape& a, const Shape& b, const Region& output);

}  // namespace shoal::ops
