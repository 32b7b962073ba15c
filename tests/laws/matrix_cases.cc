#include "laws.h"
#include "shoal/ops/ops.h"

namespace shoal::laws {
namespace {

Case gemm(Rng& rng) {
  const int64_t m = random_int(rng, 1, 9), n = random_int(rng, 1, 9), k = random_int(rng, 1, 9);
  const int64_t ta = random_int(rng, 0, 1), tb = random_int(rng, 0, 1);
  Case c{{random_tensor(rng, ta ? Shape{k, m} : Shape{m, k}),
          random_tensor(rng, tb ? Shape{n, k} : Shape{k, n})},
         {{"transA", ta}, {"transB", tb}, {"alpha", 0.5f}}};
  if (random_int(rng, 0, 1) != 0) c.inputs.push_back(random_tensor(rng, {n}));
  return c;
}

}  // namespace

std::vector<Source> matrix_cases() { return {{&ops::gemm, gemm}}; }

}  // namespace shoal::laws
