// PrivacyOptions: how much a single example may influence what is learned.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#pragma GCC visibility push(default)

namespace shoal::privacy {

// A secret of 256 bits.
using Key = std::array<uint8_t, 32>;

// DP-SGD (Abadi et al. 2016). The gradient of each example is shortened to `clip`, and normal noise
// of deviation noise * clip is added to their sum. A value.
struct PrivacyOptions {
  double noise = 0;  // deviation of the noise, in multiples of `clip`
  double clip = 0;   // the longest gradient of an example; 0: training is not private
  double delta = 0;  // of (epsilon, delta); 0: a tenth of one over the number of examples
  // From which noise and the choice of examples are drawn. Nothing: from the system, another one
  // each time, as it must be outside of tests.
  std::optional<Key> key = {};

  // Whether training is private at all.
  bool is_on() const { return clip > 0; }
};

// What training has revealed of any one example, and what that cost.
struct PrivacySpent {
  double epsilon = 0;      // with `delta`, by the Rényi accountant
  double delta = 0;        // as asked for
  double order = 0;        // of Rényi's divergence, at which epsilon is smallest
  double sample_rate = 0;  // probability of an example to be in a step
  uint64_t steps = 0;      // all since training began
  double clipped = 0;      // share of gradients that were shortened in this process
  // The speed without privacy, measured on a few batches before training began; 0: not measured.
  double plain_images_per_second = 0;
};

}  // namespace shoal::privacy

#pragma GCC visibility pop
