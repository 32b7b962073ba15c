#include "shoal/base/math/random.h"

#include <cmath>
#include <cstddef>

namespace shoal {

// Both fills compute in integers and round once, so that no compiler's liberty with floats (fused
// multiply-add, vector libraries) shows in the weights.

void fill_normal(std::span<float> elements, RandomStream stream, double deviation) {
  constexpr int32_t kMean = 2 * 65535;  // of four 16-bit numbers
  constexpr double kVariance = 4 * (65536.0 * 65536.0 - 1) / 12;
  const auto scale = static_cast<float>(deviation / std::sqrt(kVariance));
  for (size_t i = 0; i < elements.size(); ++i) {
    const uint64_t word = stream[i];
    const auto sum = static_cast<int32_t>((word & 0xffff) + (word >> 16 & 0xffff) +
                                          (word >> 32 & 0xffff) + (word >> 48));
    elements[i] = static_cast<float>(sum - kMean) * scale;
  }
}

void fill_uniform(std::span<float> elements, RandomStream stream, float low, float high) {
  const float step = (high - low) / 256;  // exact for bounds with few bits, and so is the sum
  for (size_t i = 0; i < elements.size(); ++i) {
    elements[i] = low + step * static_cast<float>(stream[i] >> 56);
  }
}

}  // namespace shoal
