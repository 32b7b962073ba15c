// A transposed convolution in phases. Outputs whose places are the same modulo the stride meet the
// same taps, at neighbouring places of the image: each phase is a convolution of stride 1.
#pragma once

#include <cstdint>
#include <vector>

#include "shoal/ops/nn/conv.h"

namespace shoal::cpu {

// The outputs first + j * stride of one axis, j < count. Output j meets tap t at j + base + t *
// dilation of the image, and there the kernel's tap first_tap - t * tap_step.
struct Phase {
  int64_t first = 0, count = 0;
  int64_t taps = 0;  // may be none
  int64_t base = 0;
  int64_t first_tap = 0, tap_step = 0;
};

struct PhasedAxis {
  // Of the convolution from y to x that is run backwards.
  explicit PhasedAxis(const ops::WindowAxis& axis);

  int64_t stride, dilation;  // the latter in the image
  std::vector<Phase> phases;
  // Output j of any phase reads [j + low, j + high) of the image.
  int64_t low = 0, high = 0;

  int64_t most() const { return phases.front().count; }  // outputs of any phase
  int64_t fewest() const { return phases.back().count; }
  int64_t read(int64_t outputs) const { return outputs - 1 + high - low; }  // by that many of them

 private:
  void find_reach();
};

// The products that all phases take with `channels` of them per tap and pixel of the output;
// infinite where phases are too many, or spread too far, to make sense.
double macs_in_phases(const ops::Convolution& backwards, double channels);

}  // namespace shoal::cpu
