// Checks of indices that are data, for Gather, Scatter and similar operators.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "shoal/model/graph/operator.h"

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

}  // namespace shoal::ops
