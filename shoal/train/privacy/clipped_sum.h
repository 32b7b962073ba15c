// ClippedSum: the noisy sum of single examples' gradients, each clipped.
//
//   release = (sum over examples of g * min(1, clip / |g|) + noise * clip * N(0, 1)) / batch
//
// (Abadi et al. 2016, algorithm 1). |g| is over all weights together. The divisor is the expected
// number of examples, because the actual one is secret.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/model/tensor/tensor.h"
#include "shoal/train/privacy/privacy_options.h"

namespace shoal::privacy {

// A key from the system's generator. Aborts if there is none.
Key fresh_key();

// ChaCha20 (RFC 8439) with a 64-bit counter and a stream number as nonce; streams are independent.
// Not OpenSSL's, which is nine times as fast and makes the masks of secure sums, because the engine
// does not need OpenSSL.
class SecretStream {
 public:
  SecretStream(const Key& key, uint64_t number, uint64_t first_block = 0)
      : key_(key), number_(number), block_(first_block) {}

  void fill(std::span<uint32_t> words);

 private:
  static constexpr size_t kLanes = 8;  // blocks computed together
  void refill();

  Key key_;
  uint64_t number_, block_;
  uint32_t words_[16 * kLanes];
  size_t used_ = 16 * kLanes;
};

// Independent standard normal numbers in f64 (Box-Muller), within 8.6 deviations of zero.
void fill_normal(std::span<double> elements, SecretStream& stream);

// Poisson sampling: each of the examples [0, count) independently with this probability. REQUIRES:
// 0 <= probability <= 1.
std::vector<size_t> sample(size_t count, double probability, SecretStream& stream);

class ClippedSum {
 public:
  // For gradients of these shapes; f32. REQUIRES: clip > 0.
  ClippedSum(std::span<const Tensor> weights, double clip);

  // Adds the gradient of one example. kInvalidArgument, and the sum is unchanged, if it is NaN or
  // infinite.
  Status add(std::span<const Tensor> gradient);

  // Writes the release and begins a new sum. Undefined tensors in `gradients` are allocated.
  void release(double noise, double batch, SecretStream& stream, std::span<Tensor> gradients);

  size_t added() const { return added_; }      // since construction
  size_t clipped() const { return clipped_; }  // of them, longer than the bound

 private:
  double clip_;
  std::vector<Tensor> sums_;
  size_t added_ = 0, clipped_ = 0;
};

}  // namespace shoal::privacy
