// Slices along an axis: see axis_slices.h.
#include "shoal/model/ops/index/axis_slices.h"

#include <cstring>

#include "shoal/model/ops/require.h"

namespace shoal::ops {

Result<Slices> slices_of(const Node& node, const Shape& shape) {
  if (!node.has("axis")) return Slices{1, shape.count(), 1};
  SHOAL_ASSIGN(size_t axis, require_axis(node.integer("axis", 0), shape.rank()));
  return Slices{shape.count(0, axis), shape[axis], shape.count(axis + 1, shape.rank())};
}

Shape shape_of_slices(const Node& node, const Shape& shape, int64_t n) {
  if (!node.has("axis")) return {n};
  Shape result = shape;
  result[axis_in(node.integer("axis", 0), shape.rank())] = n;
  return result;
}

void copy_slices(const Slices& slices, std::span<const int64_t> chosen, const Tensor& from,
                 Tensor& to) {
  if (to.count() == 0) return;  // whose outer dimensions may still be large
  const size_t bytes = static_cast<size_t>(slices.inner) * size_of(from.dtype());
  std::byte* next = to.bytes().data();
  for (int64_t o = 0; o < slices.outer; ++o) {
    for (int64_t k : chosen) {
      const auto at = static_cast<size_t>(o * slices.n + k);
      std::memcpy(next, from.bytes().data() + at * bytes, bytes);
      next += bytes;
    }
  }
}

}  // namespace shoal::ops
