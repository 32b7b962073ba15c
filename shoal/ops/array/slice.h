// Which elements a Slice takes, for who copies them.
#pragma once

#include <cstdint>
#include <span>

#include "shoal/ops/broadcast.h"

namespace shoal::ops {

// In the input: where the first element of the output lies, and how many elements to step per index
// of each axis of the output.
struct SliceSource {
  int64_t first;
  Strides strides;
};

// Of inputs that `infer` has accepted, an output that is not empty.
SliceSource slice_source(std::span<const Operand> inputs);

}  // namespace shoal::ops
