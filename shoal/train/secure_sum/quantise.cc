#include "shoal/train/secure_sum/quantise.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace shoal::secure_sum {
namespace {

double unit_of(const Quantisation& how) {
  SHOAL_CHECK(how.range > 0 && how.value_bits >= 1 && how.value_bits <= 32);
  return 2 * how.range / (std::ldexp(1.0, how.value_bits) - 1);
}

}  // namespace

// clients * (2^value_bits - 1) < 2^bits
int value_bits_for(size_t clients, int bits) {
  SHOAL_CHECK(clients > 0);
  return bits - static_cast<int>(std::bit_width(clients - 1));
}

Result<std::vector<uint32_t>> quantise(std::span<const float> elements, const Quantisation& how) {
  const double unit = unit_of(how);
  std::vector<uint32_t> integers(elements.size());
  for (size_t i = 0; i < elements.size(); ++i) {
    if (!std::isfinite(elements[i])) return invalid("an element is no number");
    const double x = std::clamp(double{elements[i]}, -how.range, how.range);
    integers[i] = static_cast<uint32_t>(std::llround((x + how.range) / unit));
  }
  return integers;
}

std::vector<float> sum_from(std::span<const uint32_t> sum, size_t count, const Quantisation& how) {
  const double unit = unit_of(how), offset = how.range * static_cast<double>(count);
  std::vector<float> real(sum.size());
  for (size_t i = 0; i < sum.size(); ++i) real[i] = static_cast<float>(sum[i] * unit - offset);
  return real;
}

}  // namespace shoal::secure_sum
