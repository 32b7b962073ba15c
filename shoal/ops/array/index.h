// Indices that are data: Gather, Scatter and their kin.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>

#include "shoal/graph/operator.h"

namespace shoal::ops {

// Counted from the end if negative. What is out of range at run time counts as the nearest that
// is not: ONNX leaves it undefined, and reading elsewhere is no choice. The size is not 0.
inline int64_t index_in(int64_t index, int64_t size) {
  return std::clamp<int64_t>(index < 0 ? index + size : index, 0, size - 1);
}

// Element k of `indices` (i32 or i64) is an index into sizes[k % sizes.size()] elements. Refuses
// what can be known to be out of range before anything runs: constants, and an axis of size 0.
Status require_indices(const Operand& indices, std::span<const int64_t> sizes);

}  // namespace shoal::ops
