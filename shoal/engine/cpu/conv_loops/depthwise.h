// Depthwise convolution in the plain layout: one channel with one filter. There is too little to
// multiply for a matrix product.
#pragma once

#include <cstdint>

#include "shoal/model/ops/window.h"

namespace shoal::cpu {

// One plane: y = clamp(conv(x, w) + bias + addend, low, high).
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
