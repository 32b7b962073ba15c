#include "shoal/model/tensor/random_tensor.h"

namespace shoal {

Tensor random_tensor(const TensorType& type, std::mt19937& rng) {
  Tensor tensor(type);
  std::uniform_real_distribution<float> uniform(0, 1);
  visit<AllTypes>(type.dtype, [&]<class T>() {
    for (T& x : tensor.data<T>()) {
      x = Floats::contains(kDTypeOf<T>) ? static_cast<T>(uniform(rng)) : static_cast<T>(rng() % 2);
    }
  });
  return tensor;
}

}  // namespace shoal
