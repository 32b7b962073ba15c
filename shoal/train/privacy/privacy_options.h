// PrivacyOptions: limits how much a single example influences what is learned.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#pragma GCC visibility push(default)

namespace shoal::privacy {

// A secret of 256 bits.
using Key = std::array<uint8_t, 32>;

// DP-SGD (Abadi et al. 2016). The gradient of each example is clipped to `clip`, and normal noise
// of deviation noise * clip is added to the sum. A value.
struct PrivacyOptions {
  double noise = 0;  // deviation of the noise, in multiples of `clip`
  double clip = 0;   // the clipping bound; 0: training is not private
  double delta = 0;  // of (epsilon, delta); 0: 0.1 / number of examples
  // The source of noise and of the choice of examples. nullopt, required outside of tests: fresh
  // from the system.
  std::optional<Key> key = {};

  // Whether training is private.
  bool is_on() const { return clip > 0; }
};

// The privacy cost of training for any one example.
struct PrivacySpent {
  double epsilon = 0;      // with `delta`, by the Rényi accountant
  double delta = 0;        // as given
  double order = 0;        // Rényi order at which epsilon is smallest
  double sample_rate = 0;  // probability of an example in a step
  uint64_t steps = 0;      // all since training began
  double clipped = 0;      // share of clipped gradients, in this process
  // The speed without privacy, measured before training; 0: not measured.
  double plain_images_per_second = 0;
};

}  // namespace shoal::privacy

#pragma GCC visibility pop
