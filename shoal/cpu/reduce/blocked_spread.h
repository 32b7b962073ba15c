// The way back through pools of one block of channels (blocked.h), pixel by pixel: one is one
// vector.
#pragma once

#include <cstdint>

#include "shoal/ops/window.h"

namespace shoal::cpu {

// One block of one image.
struct Spread {
  const ops::WindowAxis* rows = nullptr;
  const ops::WindowAxis* columns = nullptr;
  const float* dy = nullptr;  // [rows][columns][b] of the output
  float* dx = nullptr;        // [rows][columns][b], to which is added
};

// To the largest under each window of x, which is laid out as dx; the first of equals, and a NaN
// is larger than everything.
void spread_to_largest(const Spread& spread, const float* x);

// To all under each window, multiplied by its share: one number for every pixel of the output.
void spread_evenly(const Spread& spread, const float* shares);

}  // namespace shoal::cpu
