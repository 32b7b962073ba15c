// Convolution of one channel with one filter: there is too little to multiply for a product.
#pragma once

#include <cstdint>

#include "shoal/ops/window.h"

namespace shoal::cpu {

struct Depthwise {
  const ops::Window* window = nullptr;
  const float* x = nullptr;  // [depth, rows, columns]
  const float* w = nullptr;  // the taps
  float bias = 0;
  const float* addend = nullptr;  // like y; null: none
  float low = 0, high = 0;        // the result is clamped to
  float* y = nullptr;
};

void convolve_plane(const Depthwise& depthwise);

}  // namespace shoal::cpu
