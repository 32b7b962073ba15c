// Gradients of pools over one block of channels (blocked.h), pixel by pixel: one pixel is one
// vector.
#pragma once

#include <cstdint>

#include "shoal/model/ops/window.h"

namespace shoal::cpu {

// One block of one image.
struct Spread {
  const ops::WindowAxis* rows = nullptr;
  const ops::WindowAxis* columns = nullptr;
  const float* dy = nullptr;  // [rows][columns][b] of the output
  float* dx = nullptr;        // [rows][columns][b], accumulated
};

// Adds dy to the largest element under each window of x, which is laid out as dx. Of equal elements
// the first gets it; a NaN is larger than everything.
void spread_to_largest(const Spread& spread, const float* x);

// Adds dy to all elements under each window, multiplied by shares[pixel of the output].
void spread_evenly(const Spread& spread, const float* shares);

}  // namespace shoal::cpu
