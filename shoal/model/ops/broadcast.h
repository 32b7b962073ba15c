// Broadcasting, and walking several tensors at once by strides.
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "shoal/base/status.h"
#include "shoal/model/graph/operator.h"
#include "shoal/model/tensor/tensor.h"

namespace shoal::ops {

// Elements to step per index of each axis.
using Strides = Shape;

Strides strides_of(const Shape& shape);  // row-major

// The shape that all inputs stretch to, by NumPy's rule: shapes are aligned at the last axis, and a
// dimension of 1 or a missing one stretches. A dimension of 0 is compatible with 0 and 1 only.
Result<Shape> broadcast(std::span<const Shape> shapes);
Result<Shape> broadcast(std::span<const Operand> operands);  // of those given

// The strides that walk a tensor of shape `from` as if it had shape `to`: 0 where it stretches.
Strides broadcast_strides(const Shape& from, const Shape& to);

// The part of an input of shape `from` that the box of the broadcast output reads.
Region broadcast_region(const Shape& from, const Region& output);

// The tile of an element-wise node: every input is read where the output is written.
std::optional<Tile> split_elementwise(const Node& node, std::span<const Operand> inputs,
                                      const Region& output);

// Walks every position of `shape`: calls f(offsets, steps, n) once per innermost run, where
// offsets[i] + k * steps[i], k < n, are the elements of operand i.
template <size_t N, class F>
void for_each_run(const Shape& shape, const std::array<Strides, N>& strides, F f) {
  if (shape.count() == 0) return;
  const size_t rank = shape.rank();
  const size_t last = rank == 0 ? 0 : rank - 1;
  const int64_t n = rank == 0 ? 1 : shape[last];
  std::array<int64_t, N> offsets{}, steps{};
  for (size_t i = 0; i < N && rank > 0; ++i) steps[i] = strides[i][last];
  Shape at = Shape::filled(last, 0);
  for (;;) {
    f(offsets, steps, n);
    size_t d = last;
    while (d > 0) {
      --d;
      for (size_t i = 0; i < N; ++i) offsets[i] += strides[i][d];
      if (++at[d] < shape[d]) break;
      for (size_t i = 0; i < N; ++i) offsets[i] -= strides[i][d] * shape[d];
      at[d] = 0;
      if (d == 0) return;
    }
    if (last == 0) return;
  }
}

}  // namespace shoal::ops
