// Stochastic gradient descent, as torch.optim.SGD has it.
#pragma once

#include <span>
#include <vector>

#include "shoal/tensor/tensor.h"

namespace shoal::train {

struct SgdOptions {
  float rate = 0.01f;
  float momentum = 0;
  float weight_decay = 0;  // adds this share of a weight to its gradient
  bool nesterov = false;
};

class Sgd {
 public:
  explicit Sgd(const SgdOptions& options) : options_(options) {}

  // One step, in place; f32. Calls give the same weights in the same order.
  void update(std::span<Tensor> weights, std::span<const Tensor> gradients);

 private:
  SgdOptions options_;
  std::vector<Tensor> velocities_;  // one per weight, once there was a step
};

}  // namespace shoal::train
