#include <array>
#include <map>

#include "laws.h"
#include "shoal/model/ops/ops.h"

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

// Batches that broadcast, and now and then a vector on one side.
Case mat_mul(Rng& rng) {
  const int64_t m = random_int(rng, 1, 5), n = random_int(rng, 1, 5), k = random_int(rng, 1, 5);
  const Shape batch = random_shape(rng, 0, 2, 3);
  Shape a, b;
  for (int64_t dim : batch) {
    if (a.rank() > 0 || random_int(rng, 0, 1) != 0) a.push_back(random_int(rng, 0, 2) ? dim : 1);
    b.push_back(random_int(rng, 0, 2) ? dim : 1);
  }
  if (a.rank() > 0 || random_int(rng, 0, 2) != 0) a.push_back(m);
  a.push_back(k);
  b.push_back(k);
  if (b.rank() > 1 || random_int(rng, 0, 2) != 0) b.push_back(n);
  return {{random_tensor(rng, a), random_tensor(rng, b)}};
}

// An equation and a shape per input; the sizes of the letters are drawn.
Case einsum(Rng& rng) {
  const std::array equations = {"ij->ji",
                                "ii->i",
                                "ij->",
                                "i,j->ij",
                                "ij,jk->ik",
                                "bij,bjk",
                                "...ij,...jk->...ik",
                                "ijk,kl,lm->mi",
                                "ij,ij->i",
                                "i...->..."};
  const std::string equation =
      equations[static_cast<size_t>(random_int(rng, 0, std::ssize(equations) - 1))];
  std::map<char, int64_t> size;
  Case c{{}, {{"equation", equation}}};
  Shape shape;
  for (size_t at = 0; at < equation.size() && equation[at] != '-'; ++at) {
    const char letter = equation[at];
    if (letter == ',') {
      c.inputs.push_back(random_tensor(rng, shape));
      shape = {};
    } else if (letter == '.') {
      shape.push_back(c.inputs.empty() ? 3 : 1);  // which stretches
      at += 2;
    } else {
      shape.push_back(size.try_emplace(letter, random_int(rng, 1, 5)).first->second);
    }
  }
  c.inputs.push_back(random_tensor(rng, shape));
  return c;
}

}  // namespace

std::vector<Source> matrix_cases() {
  return {{&ops::gemm, gemm}, {&ops::mat_mul, mat_mul}, {&ops::einsum, einsum}};
}

}  // namespace shoal::laws
