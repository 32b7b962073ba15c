// OutputNoise: the distance between the answers of two networks.
//
// In an output of boxes and probabilities, boxes would dominate a single number. So the elements
// are sliced along each axis, and a slice s counts by its own variance V_s:
//
//   noise = max over axes of mean over s of min(1, sum of d^2 / (V_s + mean of V / 100)),
//
// where d is the difference in an element and V_s the sum of squares about the mean of the slice.
// The last term keeps slices that hardly vary from counting most. The output as a whole counts as
// an axis of one slice. 10 log10(1 / noise) is the signal-to-noise ratio in decibels.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "shoal/engine/device/device.h"
#include "shoal/model/graph/graph.h"

namespace shoal::compress {

// A running sum. A value. Not thread-safe.
class OutputNoise {
 public:
  // The outputs for one example; those that are not f32 are ignored. REQUIRES: both have the same
  // types, the same in each call.
  void add(std::span<const Tensor> wanted, std::span<const Tensor> got);

  // In [0, 1]; of several outputs the largest. 0 if nothing was added.
  double value() const;

 private:
  struct Slice {
    double count = 0, sum = 0, squares = 0, differences = 0;

    double variance() const { return squares - sum * sum / (count > 0 ? count : 1); }
  };
  using Axis = std::vector<Slice>;

  static double noise_of(const Axis& axis);

  std::vector<std::vector<Axis>> outputs_;
};

// Compares networks with one, on the same inputs. Not thread-safe.
class NoiseMeter {
 public:
  // Runs the network on each of `examples`, the inputs in its order. Fails as passes and the device
  // do. REQUIRES: `device` outlives the meter.
  static Result<NoiseMeter> start(const Graph& network, Device& device,
                                  std::vector<std::vector<Tensor>> examples);

  // Fails as start() does. REQUIRES: the network has the same inputs and outputs.
  Result<double> noise(const Graph& network) const;

 private:
  NoiseMeter(Device& device, std::vector<std::vector<Tensor>> examples)
      : device_(&device), examples_(std::move(examples)) {}

  Device* device_;
  std::vector<std::vector<Tensor>> examples_;
  std::vector<std::vector<Tensor>> wanted_;  // per example
};

}  // namespace shoal::compress
