#include "shoal/model/ops/index/index.h"

#include <cstring>

#include "shoal/model/ops/require.h"

namespace shoal::ops {
namespace {

Status out_of_range(int64_t index, int64_t size) {
  return invalid("index " + std::to_string(index) + " is out of range for an axis of size " +
                 std::to_string(size));
}

}  // namespace

Status require_indices(const Operand& indices, std::span<const int64_t> sizes) {
  SHOAL_TRY(require<Indices>(indices));
  if (indices.type.shape.count() == 0) return {};
  // Any index into an empty axis is out of range, constant or not.
  for (int64_t size : sizes) {
    if (size == 0) return invalid("indices into an axis of size 0");
  }
  if (indices.value == nullptr) return {};
  Status status;
  visit<Indices>(indices.type.dtype, [&]<class T>() {
    const std::span<const T> elements = indices.value->data<T>();
    for (size_t k = 0; k < elements.size() && status.ok(); ++k) {
      const int64_t size = sizes[k % sizes.size()];
      if (elements[k] < -size || elements[k] >= size) status = out_of_range(elements[k], size);
    }
  });
  return status;
}

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
