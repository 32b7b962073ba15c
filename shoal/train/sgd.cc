#include "shoal/train/sgd.h"

namespace shoal::train {
namespace {

// v = momentum * v + g;  w -= rate * v, or with Nesterov, looking ahead, rate * (g + momentum * v)
void descend(const SgdOptions& options, std::span<float> w, std::span<const float> gradient,
             std::span<float> v) {
  for (size_t i = 0; i < w.size(); ++i) {
    const float g = gradient[i] + options.weight_decay * w[i];
    v[i] = options.momentum * v[i] + g;
    w[i] -= options.rate * (options.nesterov ? g + options.momentum * v[i] : v[i]);
  }
}

}  // namespace

void Sgd::update(std::span<Tensor> weights, std::span<const Tensor> gradients) {
  SHOAL_CHECK(weights.size() == gradients.size());
  if (velocities_.empty()) {
    for (const Tensor& weight : weights) velocities_.emplace_back(weight.type());
  }
  for (size_t i = 0; i < weights.size(); ++i) {
    descend(options_, weights[i].data<float>(), gradients[i].data<float>(),
            velocities_[i].data<float>());
  }
}

}  // namespace shoal::train
