#include "laws.h"
#include "shoal/ops/ops.h"

namespace shoal::laws {
namespace {

Case unary(Rng& rng) { return {{random_tensor(rng, random_shape(rng, 0, 4))}}; }

// b is a with some axes set to 1 or left out at the front.
Case binary(Rng& rng) {
  const Shape a = random_shape(rng, 0, 4);
  Shape b;
  for (size_t d = static_cast<size_t>(random_int(rng, 0, static_cast<int64_t>(a.rank())));
       d < a.rank(); ++d) {
    b.push_back(random_int(rng, 0, 1) != 0 ? a[d] : 1);
  }
  const bool swap = random_int(rng, 0, 1) != 0;
  return {{random_tensor(rng, swap ? b : a), random_tensor(rng, swap ? a : b)}};
}

}  // namespace

std::vector<Source> elementwise_cases() { return {{&ops::relu, unary}, {&ops::add, binary}}; }

}  // namespace shoal::laws
