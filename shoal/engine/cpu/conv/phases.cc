// A transposed convolution adds x[i] * w[t] to y[o] at o = i * stride - pad + t * dilation. Output
// o therefore meets the taps with t * dilation = o + pad modulo stride. With g = gcd(stride,
// dilation) these are stride / g apart, and from one of them to the next the place i in the image
// moves by dilation / g. Taps are taken from the last to the first, so that i grows.
#include "shoal/engine/cpu/conv/phases.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace shoal::cpu {
namespace {

constexpr int64_t kMostPhases = 16;  // per axis

// The smallest tap with t * dilation = rest modulo stride; the size of the kernel if there is none.
int64_t first_tap_on(const ops::WindowAxis& axis, int64_t rest, int64_t tap_step) {
  const int64_t end = std::min(tap_step, axis.kernel);
  for (int64_t tap = 0; tap < end; ++tap) {
    if (tap * axis.dilation % axis.stride == rest) return tap;
  }
  return axis.kernel;
}

// Sum over the phases of outputs times taps; infinite if phases should not be used.
double work_on(const ops::WindowAxis& axis) {
  constexpr double kNever = std::numeric_limits<double>::infinity();
  if (axis.input == 0 || axis.output == 0 || axis.stride > kMostPhases) return kNever;
  const PhasedAxis phased(axis);
  // Kernels copy the padding with the image: it must not outweigh the image.
  if (phased.read(phased.most()) > 4 * (axis.output + kMostPhases)) return kNever;
  double work = 0;
  for (const Phase& phase : phased.phases) {
    work += static_cast<double>(phase.count) * static_cast<double>(phase.taps);
  }
  return work;
}

}  // namespace

PhasedAxis::PhasedAxis(const ops::WindowAxis& axis) : stride(axis.stride) {
  const int64_t common = std::gcd(axis.stride, axis.dilation), tap_step = axis.stride / common;
  dilation = axis.dilation / common;
  for (int64_t first = 0; first < std::min(axis.stride, axis.input); ++first) {
    const int64_t place = (first + axis.pad_begin) / axis.stride;
    const int64_t rest = (first + axis.pad_begin) % axis.stride;
    const int64_t smallest = first_tap_on(axis, rest, tap_step);
    Phase phase{.first = first, .count = (axis.input - first + axis.stride - 1) / axis.stride};
    phase.taps = (axis.kernel - smallest + tap_step - 1) / tap_step;
    phase.first_tap = smallest + (phase.taps - 1) * tap_step;
    phase.tap_step = tap_step;
    phase.base = place - (phase.first_tap * axis.dilation - rest) / axis.stride;
    phases.push_back(phase);
  }
  find_reach();
}

void PhasedAxis::find_reach() {
  bool found = false;
  for (const Phase& phase : phases) {
    if (phase.taps == 0) continue;
    const int64_t end = phase.base + (phase.taps - 1) * dilation + 1;
    low = found ? std::min(low, phase.base) : phase.base;
    high = found ? std::max(high, end) : end;
    found = true;
  }
  for (Phase& phase : phases) {
    if (phase.taps == 0)
      phase.base = low;  // keeps addresses inside the copy, which it does not read
  }
}

double macs_in_phases(const ops::Convolution& backwards, double channels) {
  const auto& [depth, rows, columns] = backwards.window.axes;
  const double in = static_cast<double>(backwards.batch * backwards.out_channels);
  return channels * in * work_on(rows) * work_on(columns);
}

}  // namespace shoal::cpu
