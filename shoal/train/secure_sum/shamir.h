// Shamir's secret sharing: a secret in parts, of which any `threshold` give it back and fewer say
// nothing about it.
//
// Each byte is the constant of a polynomial of degree threshold - 1 over GF(2^8), with the
// reduction polynomial of AES, x^8 + x^4 + x^3 + x + 1; share i has its values at x = i. Products
// are computed without tables and branches, so that time does not depend on secrets.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "shoal/train/secure_sum/primitives.h"

namespace shoal::secure_sum {

inline constexpr size_t kMostShares = 255;  // as many points as the field has, without zero

struct Share {
  uint8_t x = 0;  // not 0
  Secret value = {};
};

// Shares for x = 1 to `count`; the coefficients are drawn from `stream`. REQUIRES: 1 <= threshold
// <= count <= kMostShares.
std::vector<Share> share_secret(const Secret& secret, size_t threshold, size_t count,
                                KeyStream& stream);

// The secret of these shares, all of which are used. Another one if they are not of the same
// secret, or too few: the caller checks what comes out. REQUIRES: the x differ, and none is 0.
Secret combine_shares(std::span<const Share> shares);

}  // namespace shoal::secure_sum
