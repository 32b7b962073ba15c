// ClippedSum: the sum of gradients of single examples, each shortened to a bound, and noise.
//
//   release = (sum over examples of g * min(1, clip / |g|) + noise * clip * N(0, 1)) / batch
//
// (Abadi et al. 2016, algorithm 1). |g| is taken over all weights together. The divisor is the
// expected number of examples: the actual one is a secret, as the choice of examples is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/model/tensor/tensor.h"
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

class ClippedSum {
 public:
  // For gradients of these shapes; f32. REQUIRES: clip > 0.
  ClippedSum(std::span<const Tensor> weights, double clip);

  // Adds the gradient of one example. Refuses one that is no number (kInvalidArgument); the sum is
  // then as it was.
  Status add(std::span<const Tensor> gradient);

  // Writes the release, and begins a new sum. `gradients` gets tensors where it has none.
  void release(double noise, double batch, SecretStream& stream, std::span<Tensor> gradients);

  size_t added() const { return added_; }      // since this was made
  size_t clipped() const { return clipped_; }  // how many of them were longer than the bound

 private:
  double clip_;
  std::vector<Tensor> sums_;
  size_t added_ = 0, clipped_ = 0;
};

}  // namespace shoal::privacy
