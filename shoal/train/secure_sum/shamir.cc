#include "shoal/train/secure_sum/shamir.h"

#include "shoal/base/status.h"

namespace shoal::secure_sum {
namespace {

// a * b. Eight steps, whatever the factors are.
constexpr uint8_t multiply(uint8_t a, uint8_t b) {
  unsigned product = 0, x = a;
  for (unsigned bit = 0; bit < 8; ++bit) {
    product ^= x & (0u - (b >> bit & 1u));
    x = (x << 1) ^ (0x11bu & (0u - (x >> 7 & 1u)));
  }
  return static_cast<uint8_t>(product);
}

// 1 / a = a^254, as the field has 255 elements besides zero.
constexpr uint8_t inverse(uint8_t a) {
  uint8_t power = a;  // a^(2^n - 1) after n bits
  for (int bit = 1; bit < 7; ++bit) power = multiply(multiply(power, power), a);
  return multiply(power, power);
}

static_assert(multiply(0x57, 0x83) == 0xc1);  // FIPS 197, section 4.2
static_assert(multiply(inverse(0x53), 0x53) == 1);

void multiply_all(Secret& by_byte, uint8_t factor) {
  for (uint8_t& byte : by_byte) byte = multiply(byte, factor);
}

void add_all(Secret& sum, const Secret& other) {
  for (size_t i = 0; i < sum.size(); ++i) sum[i] ^= other[i];
}

}  // namespace

std::vector<Share> share_secret(const Secret& secret, size_t threshold, size_t count,
                                KeyStream& stream) {
  SHOAL_CHECK(threshold >= 1 && threshold <= count && count <= kMostShares);
  std::vector<Secret> coefficients(threshold);
  coefficients[0] = secret;
  for (size_t i = 1; i < threshold; ++i) stream.fill(coefficients[i]);
  std::vector<Share> shares(count);
  for (size_t s = 0; s < count; ++s) {
    shares[s].x = static_cast<uint8_t>(s + 1);
    // Horner's rule, from the highest coefficient down.
    for (size_t i = threshold; i-- > 0;) {
      multiply_all(shares[s].value, shares[s].x);
      add_all(shares[s].value, coefficients[i]);
    }
  }
  for (Secret& coefficient : coefficients) forget(coefficient);
  return shares;
}

// Lagrange at zero: sum over shares of value * product over the others of x / (x - own x); in this
// field, minus is plus.
Secret combine_shares(std::span<const Share> shares) {
  Secret secret = {};
  for (const Share& share : shares) {
    uint8_t above = 1, below = 1;
    for (const Share& other : shares) {
      if (&other == &share) continue;
      SHOAL_CHECK(other.x != 0 && other.x != share.x);
      above = multiply(above, other.x);
      below = multiply(below, static_cast<uint8_t>(other.x ^ share.x));
    }
    Secret term = share.value;
    multiply_all(term, multiply(above, inverse(below)));
    add_all(secret, term);
  }
  return secret;
}

}  // namespace shoal::secure_sum
