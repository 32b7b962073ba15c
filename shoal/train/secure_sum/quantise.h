// Real numbers as small integers that can be added exactly, and their sum as real numbers.
//
//   q(x) = round((clamp(x, -range, range) + range) / unit),   unit = 2 range / (2^value_bits - 1)
//
// A sum of n vectors is off by n * unit / 2 at most, where no element was clamped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "shoal/base/status.h"

namespace shoal::secure_sum {

struct Quantisation {
  double range = 1;     // elements beyond are clamped
  int value_bits = 16;  // 1 to 32
};

// The bits of elements whose sum over so many clients does not wrap around at 2^bits; none left is
// 0 or less.
int value_bits_for(size_t clients, int bits);

// Refuses elements that are no numbers (kInvalidArgument). REQUIRES: range > 0.
Result<std::vector<uint32_t>> quantise(std::span<const float> elements, const Quantisation& how);

// The real sum of `count` vectors from the sum of their integers.
std::vector<float> sum_from(std::span<const uint32_t> sum, size_t count, const Quantisation& how);

}  // namespace shoal::secure_sum
