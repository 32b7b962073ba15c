// Finish: what kernels of the blocked layout do in registers to the sums of some channels before
// they store them. Everything else about an activation is a pass over what was stored.
#pragma once

namespace shoal::cpu {

// y = clamp(max(x, slope x), low, high). Each has one element per channel, in blocks.
struct Finish {
  const float* slope = nullptr;                 // null: 1
  const float *low = nullptr, *high = nullptr;  // null: no bounds
};

}  // namespace shoal::cpu
