// Random numbers for these tests.
#pragma once

#include <cstdint>
#include <random>

#include "shoal/model/tensor/tensor.h"

namespace shoal::delta {

using Rng = std::mt19937;

inline int64_t draw(Rng& rng, int64_t low, int64_t high) {
  return std::uniform_int_distribution<int64_t>(low, high)(rng);
}

inline Tensor random_floats(Rng& rng, const Shape& shape, float deviation = 1) {
  std::normal_distribution<float> normal(0, deviation);
  Tensor tensor({DType::kF32, shape});
  for (float& x : tensor.data<float>()) x = normal(rng);
  return tensor;
}

}  // namespace shoal::delta
