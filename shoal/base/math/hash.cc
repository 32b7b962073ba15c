#include "shoal/base/math/hash.h"

#include <cstring>

namespace shoal {
namespace {

// A bijection of either argument, so that a change of one word is never lost. The factor is 2^64
// divided by the golden ratio, made odd.
uint64_t mix(uint64_t state, uint64_t word) {
  state = (state ^ word) * 0x9e3779b97f4a7c15u;
  return state ^ (state >> 29);
}

}  // namespace

uint64_t hash_of(std::span<const std::byte> bytes) {
  // Eight independent chains: a product takes some cycles, and one can begin in each cycle.
  constexpr size_t kLanes = 8, kWord = sizeof(uint64_t);
  uint64_t lanes[kLanes] = {1, 2, 3, 4, 5, 6, 7, 8};
  const std::byte* at = bytes.data();
  size_t left = bytes.size();
  for (; left >= kLanes * kWord; at += kLanes * kWord, left -= kLanes * kWord) {
    uint64_t words[kLanes];
    std::memcpy(words, at, sizeof(words));
    for (size_t i = 0; i < kLanes; ++i) lanes[i] = mix(lanes[i], words[i]);
  }
  uint64_t hash = bytes.size();
  for (uint64_t lane : lanes) hash = mix(hash, lane);
  for (; left > 0;) {
    const size_t n = left < kWord ? left : kWord;
    uint64_t word = 0;
    std::memcpy(&word, at, n);
    hash = mix(hash, word);
    at += n;
    left -= n;
  }
  return mix(hash, hash >> 32);
}

}  // namespace shoal
