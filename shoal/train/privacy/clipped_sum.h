// ClippedSum: the sum of gradients of single examples, each shortened to a bound, and noise.
//
//   release = (sum over examples of g * min(1, clip / |g|) + noise * clip * N(0, 1)) / batch
//
// (Abadi et al. 2016, algorithm 1). |g| is taken over all weights together. The divisor is the
// expected number of examples: the actual one is a secret, as the choice of examples is.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "shoal/base/status.h"
#include "shoal/model/tensor/tensor.h"
#include "shoal/train/privacy/secret_stream.h"

namespace shoal::privacy {

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
