// The inner loops of resize.cc, compiled once per instruction set.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace shoal::cpu {

// Output k of an axis is the sum of elements from first[k] on, times weights from offsets[k] up to
// offsets[k + 1]. There is at least one.
struct LineTaps {
  std::vector<int64_t> first;
  std::vector<size_t> offsets;
  std::vector<float> weights;
  size_t each = 0;  // taps of every output, where all have as many; else 0

  std::span<const float> weights_of(size_t k) const {
    return {weights.data() + offsets[k], offsets[k + 1] - offsets[k]};
  }
};

// y = the sum of weights[t] times the line of n elements at x + t * n.
void add_lines(std::span<const float> weights, const float* x, float* y, int64_t n);

// Resizes a line of pixels of `inner` elements each.
void resize_line(const LineTaps& taps, const float* x, int64_t inner, float* y);

}  // namespace shoal::cpu
