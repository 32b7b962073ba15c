// Transposed convolution in phases. Outputs at the same place modulo the stride meet the same taps,
// at neighbouring places of the image: each phase is a convolution of stride 1.
#pragma once

#include <cstdint>
#include <vector>

#include "shoal/model/ops/conv/conv.h"

namespace shoal::cpu {

// One phase of one axis: outputs first + j * stride for j < count. Output j meets its tap t at j +
// base + t * dilation of the image, which is tap first_tap - t * tap_step of the kernel.
struct Phase {
  int64_t first = 0, count = 0;
  int64_t taps = 0;  // may be none
  int64_t base = 0;
  int64_t first_tap = 0, tap_step = 0;
};

struct PhasedAxis {
  // `axis` belongs to the convolution from y to x, which the transposed one runs backwards.
  explicit PhasedAxis(const ops::WindowAxis& axis);

  int64_t stride, dilation;  // the latter in the image
  std::vector<Phase> phases;
  // Output j of any phase reads [j + low, j + high) of the image.
  int64_t low = 0, high = 0;

  int64_t most() const { return phases.front().count; }  // outputs of the longest phase
  int64_t fewest() const { return phases.back().count; }
  int64_t read(int64_t outputs) const { return outputs - 1 + high - low; }  // lines of the image

 private:
  void find_reach();
};

// Multiply-accumulates of all phases with `channels` of them per tap and pixel of the output.
// Infinite if phases are too many, or spread too far, to be worth it.
double macs_in_phases(const ops::Convolution& backwards, double channels);

}  // namespace shoal::cpu
