// SecretStream: random words that nobody can predict who does not have the key.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "shoal/train/privacy/privacy_options.h"

namespace shoal::privacy {

// A key from the system's generator. Aborts where there is none.
Key fresh_key();

// The words of ChaCha20 (RFC 8439) under a key, with a counter of 64 bits and a stream number in
// place of the nonce. Streams of different numbers have nothing in common. Not OpenSSL's, which the
// masks of secure sums come from and which is nine times as fast: the engine needs no OpenSSL.
class SecretStream {
 public:
  SecretStream(const Key& key, uint64_t number, uint64_t first_block = 0)
      : key_(key), number_(number), block_(first_block) {}

  // The next words.
  void fill(std::span<uint32_t> words);

 private:
  static constexpr size_t kLanes = 8;  // blocks that are computed together
  void refill();

  Key key_;
  uint64_t number_, block_;
  uint32_t words_[16 * kLanes];
  size_t used_ = 16 * kLanes;
};

// Normal numbers of deviation 1, independent of each other; f64 by the method of Box and Muller.
// They are within 8.6 deviations of zero.
void fill_normal(std::span<double> elements, SecretStream& stream);

// Examples [0, count), each with this probability, whatever the others are (Poisson sampling).
// REQUIRES: 0 <= probability <= 1.
std::vector<size_t> sample(size_t count, double probability, SecretStream& stream);

}  // namespace shoal::privacy
