// Random tensors of every element type, for the cases of families that take many.
#pragma once

#include <vector>

#include "laws.h"

namespace shoal::laws {

using Draw = std::function<Case(Rng&)>;
using DTypes = std::vector<DType>;

// The types an element is drawn from, and its range; integers lose the fraction.
struct Domain {
  DTypes dtypes = floats();
  float low = -2;
  float high = 2;

  static DTypes floats() { return {DType::kF32, DType::kF64, DType::kF16, DType::kBF16}; }
  static DTypes numbers() {
    return {DType::kF32, DType::kF64, DType::kF16, DType::kI8,
            DType::kU8,  DType::kI32, DType::kI64};
  }
};

bool toss(Rng& rng);
DType random_dtype(Rng& rng, const DTypes& dtypes);
Tensor random_tensor(Rng& rng, DType dtype, const Shape& shape, const Domain& domain);

// `shape` with some axes set to 1 or left out at the front: it broadcasts to `shape`.
Shape shrunk(Rng& rng, const Shape& shape);

}  // namespace shoal::laws
