// The slices of a tensor that Compress and Unique choose from: those along `axis` or, without that
// attribute, the elements in row-major order.
#pragma once

#include <cstdint>
#include <span>

#include "shoal/model/graph/graph.h"

namespace shoal::ops {

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

}  // namespace shoal::ops
