#include "shoal/base/math/hash.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <vector>

namespace shoal {
namespace {

std::vector<std::byte> random_bytes(size_t size) {
  std::mt19937 rng(static_cast<unsigned>(size));
  std::vector<std::byte> bytes(size);
  for (std::byte& b : bytes) b = static_cast<std::byte>(rng() & 255);
  return bytes;
}

TEST(Hash, TellsEveryBitApart) {
  for (const size_t size : {1u, 8u, 13u, 64u, 200u}) {
    std::vector<std::byte> bytes = random_bytes(size);
    std::set<uint64_t> seen = {hash_of(bytes)};
    for (std::byte& b : bytes) {
      for (int bit = 0; bit < 8; ++bit) {
        b ^= std::byte{1} << bit;
        EXPECT_TRUE(seen.insert(hash_of(bytes)).second);
        b ^= std::byte{1} << bit;
      }
    }
  }
}

TEST(Hash, TellsLengthsAndOrdersApart) {
  std::set<uint64_t> seen;
  for (size_t size = 0; size < 300; ++size) {
    EXPECT_TRUE(seen.insert(hash_of(std::vector<std::byte>(size))).second) << size << " zeros";
  }
  std::vector<std::byte> bytes = random_bytes(256);
  for (size_t i = 0; i < 256; i += 8) {
    std::vector<std::byte> turned = bytes;
    std::rotate(turned.begin(), turned.begin() + static_cast<std::ptrdiff_t>(i), turned.end());
    EXPECT_TRUE(seen.insert(hash_of(turned)).second) << "turned by " << i;
  }
}

}  // namespace
}  // namespace shoal
