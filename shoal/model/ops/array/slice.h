// The elements that a Slice takes, for kernels that copy them.
#pragma once

#include <cstdint>
#include <span>

#include "shoal/model/ops/broadcast.h"

namespace shoal::ops {

// Strides in the input: the place of the first element of the output, and the number of elements to
// step per index of each axis of the output.
struct SliceSource {
  int64_t first;
  Strides strides;
};

// REQUIRES: `infer` has accepted the inputs, and the output is not empty.
SliceSource slice_source(std::span<const Operand> inputs);

}  // namespace shoal::ops
