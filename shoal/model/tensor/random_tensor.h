// Tensors of random elements, for measurements and for calibration without data.
#pragma once

#include <random>

#include "shoal/model/tensor/tensor.h"

namespace shoal {

// Floats are uniform in [0, 1); elements of other types are 0 or 1, so that they are valid as
// indices, masks and lengths. The elements follow from the state of `rng` alone.
Tensor random_tensor(const TensorType& type, std::mt19937& rng);

}  // namespace shoal
