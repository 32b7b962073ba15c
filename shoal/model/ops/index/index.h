// Indices that are data, for Gather, Scatter and similar operators: checks, slices along an axis,
// the order of elements, and scattering.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

#include "shoal/model/graph/graph.h"
#include "shoal/model/graph/operator.h"
#include "shoal/model/tensor/dtype.h"

namespace shoal::ops {

// The index in [0, size), counted from the end if negative. An index out of range at run time is
// clamped: ONNX leaves it undefined, and reading outside the tensor is not acceptable. REQUIRES:
// size > 0.
inline int64_t index_in(int64_t index, int64_t size) {
  return std::clamp<int64_t>(index < 0 ? index + size : index, 0, size - 1);
}

// Element k of `indices` (i32 or i64) is an index into sizes[k % sizes.size()] elements. Refuses
// errors that are known before anything runs: constants out of range, and an axis of size 0.
Status require_indices(const Operand& indices, std::span<const int64_t> sizes);

// The slices of a tensor that Compress and Unique choose from: those along `axis` or, without that
// attribute, the elements in row-major order.

// A tensor as [outer, n, inner]: slice i is [:, i, :].
struct Slices {
  int64_t outer, n, inner;
};

Result<Slices> slices_of(const Node& node, const Shape& shape);

// The shape that remains when n slices are kept.
Shape shape_of_slices(const Node& node, const Shape& shape, int64_t n);

// Copies the slices with the numbers `chosen`, in that order. REQUIRES: each is in [0, n).
void copy_slices(const Slices& slices, std::span<const int64_t> chosen, const Tensor& from,
                 Tensor& to);

// The order in which elements are sorted.

// A strict weak order, which sorting needs, also if there are NaNs: they come last, as in NumPy.
// So they are largest for TopK.
template <class T>
bool sorts_before(T a, T b) {
  using C = Compute<T>;
  const C x = a, y = b;
  if constexpr (std::is_floating_point_v<C>) {
    if (std::isnan(x)) return false;
    if (std::isnan(y)) return true;
  }
  return x < y;
}

// The reductions that combine scattered updates with existing elements.

// Combines n elements with n updates, in place.
using Combine = void (*)(std::byte* elements, const std::byte* updates, int64_t n);

// The function that the attribute `reduction` names: none (a copy), add, mul, or, from opset 18,
// max and min. Integers wrap; for bool, add and max are "or", mul and min are "and".
Result<Combine> combine_of(const Node& node, DType dtype);

}  // namespace shoal::ops
