// Checks of indices: see index.h.
#include "shoal/model/ops/index/index.h"

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

}  // namespace shoal::ops
