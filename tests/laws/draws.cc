#include "draws.h"

#include "shoal/model/ops/convert.h"

namespace shoal::laws {

bool toss(Rng& rng) { return random_int(rng, 0, 1) != 0; }

DType random_dtype(Rng& rng, const DTypes& dtypes) {
  return dtypes[static_cast<size_t>(random_int(rng, 0, static_cast<int64_t>(dtypes.size()) - 1))];
}

Tensor random_tensor(Rng& rng, DType dtype, const Shape& shape, const Domain& domain) {
  return ops::converted(random_tensor(rng, shape, domain.low, domain.high), dtype);
}

Shape shrunk(Rng& rng, const Shape& shape) {
  Shape small;
  const auto rank = static_cast<int64_t>(shape.rank());
  for (auto d = static_cast<size_t>(random_int(rng, 0, rank)); d < shape.rank(); ++d) {
    small.push_back(toss(rng) ? shape[d] : 1);
  }
  return small;
}

}  // namespace shoal::laws
